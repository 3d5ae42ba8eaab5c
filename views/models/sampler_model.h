#pragma once
// The registry of samplers as a table: what each is, how well it is verified, and who in the case uses it.

#include <memory>

#include "core/sampling/profile.h"
#include "views/data/case_source.h"
#include "views/models/sort_proxy.h"
#include "views/models/table_model.h"

namespace difr::views {

class SamplerModel final : public TableModel {
  Q_OBJECT
 public:
  enum Column { profile, title, family, verification, versions, in_case, needs, missing, column_count };
  enum ExtraRole {
    search_role = id_role + 1,  ///< every text of the row, for filters
    reproducible_role,
  };

  explicit SamplerModel(QObject* parent = nullptr);
  /// Null when no case is open; then nobody uses anything.
  void set_overview(std::shared_ptr<const CaseOverview> overview);
  [[nodiscard]] const SamplerProfile* at(int row) const;
  /// Providers of the case that declare the sampler or were scored under it.
  [[nodiscard]] QStringList users(int row) const;

 private:
  [[nodiscard]] int rows() const override;
  [[nodiscard]] QVariant cell(int row, int column, int role) const override;
  [[nodiscard]] QVariant display(int row, int column) const;

  std::shared_ptr<const CaseOverview> overview_;
};

/// Keeps the rows that hold every word typed, wherever it stands.
class SamplerFilter final : public SortProxy {
  Q_OBJECT
 public:
  using SortProxy::SortProxy;
  void set_filter(const QString& words, bool reproducible_only);

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  QStringList words_;
  bool reproducible_only_ = false;
};

[[nodiscard]] QString family_text(SamplerFamily family);
[[nodiscard]] QString verification_text(Verification verification);
[[nodiscard]] QString order_text(ProcessingOrder order);

}  // namespace difr::views
