#include "views/shell/recompute_dialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/theme/icons.h"
#include "views/widgets/empty_state.h"

namespace difr::views {

RecomputeDialog::RecomputeDialog(CaseSource* cases, const QString& model_dir, QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("Recompute"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(22, 20, 22, 18);
  column->setSpacing(12);
  auto* words = make_label(tr("Every claimed token is run through the trusted weights in a separate process. The "
                              "window stays usable, and finished batches survive a cancel."),
                           TextStyle::body);
  words->setWordWrap(true);
  set_muted(words);
  column->addWidget(words);

  auto* form = new QFormLayout;
  form->setHorizontalSpacing(16);
  form->setVerticalSpacing(10);
  auto* row = new QHBoxLayout;
  model_ = new QLineEdit(model_dir);
  model_->setMinimumWidth(fontMetrics().averageCharWidth() * 46);
  model_->setPlaceholderText(tr("Folder with config.json and *.safetensors, or a .gguf file"));
  model_->setAccessibleName(tr("Model folder"));
  auto* browse = new QToolButton;
  browse->setIcon(icon(QStringLiteral("open")));
  browse->setToolTip(tr("Choose the folder"));
  browse->setAccessibleName(tr("Choose the model folder"));
  row->addWidget(model_);
  row->addWidget(browse);
  form->addRow(tr("&Trusted model"), row);
  static_cast<QLabel*>(form->labelForField(row))->setBuddy(model_);
  dtype_ = new QComboBox;
  dtype_->addItem(tr("fp32 — the better judge, slower"), QStringLiteral("fp32"));
  dtype_->addItem(tr("bf16 — as most engines run"), QStringLiteral("bf16"));
  dtype_->addItem(tr("fp16"), QStringLiteral("fp16"));
  form->addRow(tr("&Precision"), dtype_);
  providers_ = new QListWidget;
  providers_->setMaximumHeight(fontMetrics().height() * 9);
  providers_->setAccessibleName(tr("Providers to recompute"));
  form->addRow(tr("P&roviders"), providers_);
  column->addLayout(form);

  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
  start_ = buttons->addButton(tr("Recompute"), QDialogButtonBox::AcceptRole);
  start_->setDefault(true);
  column->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(model_, &QLineEdit::textChanged, this, &RecomputeDialog::check);
  connect(providers_, &QListWidget::itemChanged, this, &RecomputeDialog::check);
  connect(browse, &QToolButton::clicked, this, [this] {
    auto* dialog = new QFileDialog(this, tr("Trusted model"), model_->text());
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QFileDialog::fileSelected, model_, &QLineEdit::setText);
    dialog->open();
  });
  cases->load_overview(this, [this](tl::expected<std::shared_ptr<const CaseOverview>, Problem> reply) {
    if (!reply) return;
    for (const ProviderRow& provider : (*reply)->providers) {
      const QString name = QString::fromStdString(provider.config.name);
      auto* item = new QListWidgetItem(
          provider.role == ProviderRole::calibration ? tr("%1 (calibration)").arg(name) : name, providers_);
      item->setFlags(item->flags() | Qt::ItemIsUserCheckable);
      item->setCheckState(Qt::Checked);
      item->setData(Qt::UserRole, QVariant::fromValue<qlonglong>(provider.id));
    }
    check();
  });
  check();
}

RecomputeRequest RecomputeDialog::request() const {
  RecomputeRequest out;
  out.model_dir = model_->text().trimmed();
  out.dtype = dtype_->currentData().toString();
  for (int i = 0; i < providers_->count(); ++i)
    if (providers_->item(i)->checkState() == Qt::Checked)
      out.provider_ids.push_back(providers_->item(i)->data(Qt::UserRole).toLongLong());
  if (static_cast<int>(out.provider_ids.size()) == providers_->count()) out.provider_ids.clear();
  return out;
}

void RecomputeDialog::check() {
  int chosen = 0;
  for (int i = 0; i < providers_->count(); ++i) chosen += providers_->item(i)->checkState() == Qt::Checked;
  if (start_) start_->setEnabled(!model_->text().trimmed().isEmpty() && chosen > 0);
}

}  // namespace difr::views
