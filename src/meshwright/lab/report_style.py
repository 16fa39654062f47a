"""How the page of a replay looks, on a desk and on a phone, and how its table is sorted."""

from __future__ import annotations

from meshwright.files.page_style import PAGE

STYLE = (
    PAGE
    + """
body{max-width:80rem}
.answer{font-size:1.1rem;background:var(--good-tint);border-left:4px solid var(--good);
padding:.7rem 1rem}
.wide{overflow-x:auto}
.legend span{display:inline-block;margin-right:1rem;font-size:.85rem}
.legend i{display:inline-block;width:.8rem;height:.8rem;margin-right:.3rem;vertical-align:-.1rem}
.bar{display:grid;grid-template-columns:19rem 1fr 5rem;gap:.6rem;align-items:center;margin:.15rem 0}
.bar b{font-weight:400;font-size:.9rem;text-align:right}.bar small{color:var(--quiet)}
.bar em{font-style:normal;font-variant-numeric:tabular-nums;font-size:.9rem}
.track{display:flex;height:1rem}.track i{height:100%}
.bar.chosen b,.bar.chosen em{font-weight:700}.bar.unfit{opacity:.4}
mark{background:var(--good);color:var(--card);border-radius:.2rem;padding:0 .3rem;font-size:.75rem}
.messages{background:#2f6fbf}.relays{background:#bf2f33}.delay{background:#ec9150}
.management{background:#7a4fb5}.reconfiguration{background:#6f8796}.links{background:#3a9b5c}
table{font-size:.78rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .36rem}
th{cursor:pointer;vertical-align:bottom;background:var(--tint);position:sticky;top:0}
th[aria-sort=ascending]::after{content:' \\2191'}th[aria-sort=descending]::after{content:' \\2193'}
.number{text-align:right;white-space:nowrap}
th.number{writing-mode:vertical-rl;transform:rotate(180deg);text-align:left}
.word,.why{text-align:left}td.why{min-width:16rem;white-space:normal;font-weight:400}
tr.chosen{background:var(--good-tint);font-weight:600}tr.unfit{color:var(--quiet)}
@media(max-width:640px){
body{margin:1rem auto;padding:0 .8rem}
.bar{grid-template-columns:1fr 4rem}.bar b{grid-column:1/3;text-align:left;margin-top:.3rem}
table,thead,tbody,tr,td{display:block;font-size:.85rem}
thead tr{display:flex;flex-wrap:wrap;gap:.3rem;border:0;padding:0}
thead tr::before{content:'sort by';color:var(--quiet);align-self:center}
th,th.number{border:1px solid var(--line);border-radius:.4rem;position:static;writing-mode:initial;
transform:none}
tr{border:1px solid var(--line);border-radius:.4rem;margin:.6rem 0;padding:.3rem}
td{border:0;display:flex;justify-content:space-between;gap:1rem;padding:.12rem .4rem}
td::before{content:attr(data-label);color:var(--quiet);font-weight:400}
td.why{min-width:0;display:block}td.why::before{display:block}
.wide svg{min-width:36rem}}
"""
)

SCRIPT = """
document.querySelectorAll('th').forEach((head,at)=>head.addEventListener('click',()=>{
const body=head.closest('table').tBodies[0],up=head.getAttribute('aria-sort')!=='ascending';
const value=row=>row.cells[at].textContent.replace(/,/g,'');
const order=(a,b)=>{const x=value(a),y=value(b),n=Number(x)-Number(y);
return isNaN(n)?x.localeCompare(y):n};
head.parentNode.querySelectorAll('th').forEach(one=>one.removeAttribute('aria-sort'));
head.setAttribute('aria-sort',up?'ascending':'descending');
[...body.rows].sort((a,b)=>up?order(a,b):order(b,a)).forEach(row=>body.append(row))}));
"""
