#include "core/report/html_style.h"

namespace difr::report {

std::string_view html_style() {
  return R"(:root{color-scheme:light dark;--bg:#fff;--fg:#1c2126;--muted:#5b6670;--line:#d5dae0;--soft:#f4f6f8;--link:#00588f;
--bar:#56b4e9;--trusted:#1c2126;--threshold:#b34700;--pass:#00735a;--fail:#b34700;--undetermined:#6a51a3;--heat:213,94,0}
@media (prefers-color-scheme:dark){:root{--bg:#15191d;--fg:#e6e9ec;--muted:#9da8b2;--line:#38424b;--soft:#1f252b;--link:#7cc4f5;
--bar:#3587b8;--trusted:#f0f3f5;--threshold:#ff9d57;--pass:#3fcfa6;--fail:#ff9d57;--undetermined:#b8a3ee;--heat:230,140,30}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2.5rem 1.5rem 5rem;max-width:60rem;background:var(--bg);color:var(--fg);
font:16px/1.55 system-ui,"Segoe UI","DejaVu Sans",sans-serif;overflow-wrap:anywhere}
header{border-bottom:2px solid var(--fg);margin-bottom:1.5rem;padding-bottom:.5rem}
.logo{max-height:4rem;max-width:14rem;float:right}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .3rem}
.subject{font-size:1.15rem;margin:.2rem 0}
h2{font-size:1.4rem;margin:2.6rem 0 .7rem;padding-top:.4rem;border-top:1px solid var(--line)}
h3{font-size:1.12rem;margin:2rem 0 .5rem}
h4{font-size:1rem;margin:1.4rem 0 .3rem}
a{color:var(--link)}
nav ol{columns:2;padding-left:1.4rem;margin:0}
.lead{font-size:1.2rem}
.note,figcaption{color:var(--muted);font-size:.86rem}
.callout{border-left:4px solid var(--muted);background:var(--soft);padding:.7rem 1rem}
.callout.pass{border-color:var(--pass)}.callout.fail{border-color:var(--fail)}.callout.undetermined{border-color:var(--undetermined)}
ul{padding-left:1.3rem}li{margin:.4rem 0}
.board{display:flex;gap:.8rem;flex-wrap:wrap;margin:1rem 0}
.card{flex:1 1 9rem;border:1px solid var(--line);border-top:4px solid var(--muted);padding:.6rem 1rem;background:var(--soft)}
.card.pass{border-top-color:var(--pass)}.card.fail{border-top-color:var(--fail)}.card.undetermined{border-top-color:var(--undetermined)}
.figure{font-size:1.8rem;font-weight:600;margin-right:.4rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.86rem;margin:.8rem 0}
th,td{text-align:left;vertical-align:top;padding:.38rem .55rem;border-bottom:1px solid var(--line);overflow-wrap:normal}
thead th{border-bottom:2px solid var(--fg)}
.right{text-align:right;font-variant-numeric:tabular-nums}
.mono,pre{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.8rem;overflow-wrap:anywhere}
.facts th{width:15rem;font-weight:500;color:var(--muted)}
.facts td,.mono{overflow-wrap:anywhere}
td.right{white-space:nowrap}.card.pass span+span{color:var(--pass)}.card.fail span+span{color:var(--fail)}
.card.undetermined span+span{color:var(--undetermined)}
.tone{font-weight:600;white-space:nowrap}
.tone.pass{color:var(--pass)}.tone.fail{color:var(--fail)}.tone.undetermined{color:var(--undetermined)}
figure{margin:1.2rem 0}
svg{width:100%;height:auto;font-family:inherit}
.i-grid{--c:var(--line)}.i-axis{--c:var(--muted)}.i-text{--c:var(--fg)}.i-muted{--c:var(--muted)}.i-bar{--c:var(--bar)}
.i-trusted{--c:var(--trusted)}.i-threshold{--c:var(--threshold)}.i-pass{--c:var(--pass)}.i-fail{--c:var(--fail)}
.i-undetermined{--c:var(--undetermined)}
.stroke{fill:none;stroke:var(--c)}.fill,.label{fill:var(--c)}
.heat{border:1px solid var(--line);padding:.5rem .7rem;line-height:1.9;font-size:.9rem;white-space:pre-wrap}
.t{padding:.1em 0;border-radius:2px}
.h1{background:rgba(var(--heat),.10)}.h2{background:rgba(var(--heat),.18)}.h3{background:rgba(var(--heat),.26)}
.h4{background:rgba(var(--heat),.34)}.h5{background:rgba(var(--heat),.42)}.h6{background:rgba(var(--heat),.50)}
.h7{background:rgba(var(--heat),.58)}.h8{background:rgba(var(--heat),.66)}.h9{background:rgba(var(--heat),.75)}
.out{outline:3px double var(--fail)}.edge{border-bottom:2px dotted var(--muted)}.none{color:var(--muted);font-style:italic}
pre{white-space:pre-wrap;background:var(--soft);padding:.8rem;border:1px solid var(--line)}
@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--muted:#444;--line:#bbb;--soft:#f4f6f8;--link:#000;--bar:#56b4e9;
--trusted:#000;--threshold:#b34700;--pass:#00735a;--fail:#b34700;--undetermined:#6a51a3;--heat:213,94,0}
body{max-width:none;padding:0;font-size:10pt}nav{display:none}h2,h3,h4{break-after:avoid}
figure,tr,.callout{break-inside:avoid}thead{display:table-header-group}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)";
}

}  // namespace difr::report
