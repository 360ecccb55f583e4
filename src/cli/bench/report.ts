/** The report of a load test: one HTML file without scripts, that can be sent, read in light and dark, and printed. */
import { Html, html, lineChart, placeOfShare, shareAxis, timeAxis } from './charts.ts'
import { type BenchResult, isLate, type OperationFigures } from './figures.ts'

export function reportOf(result: BenchResult): string {
  const { url, startedAt, plan, operations, total, timeline, floor } = result
  const { host } = new URL(url)
  const day = startedAt.slice(0, 10)
  const rows: (Omit<OperationFigures, 'operation' | 'wire'> & { operation: string; wire: string })[] = [
    ...operations,
    { ...total, operation: 'All', wire: '' },
  ]
  // Answers that came after the end, and the part of a second that was interrupted, are no rate per second.
  const drawn = timeline.slice(0, Math.max(1, Math.floor(result.seconds)))
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Load test of ${host}, ${day}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
<header>
  <p class="eyebrow">nightledger load test</p>
  <h1>${host}</h1>
  <p class="lead">${headline(result)}</p>
</header>
${result.warnings.map((warning, i) => html`<p class="warning${i === 0 && isLate(result) ? ' bad' : ''}" role="note">${warning}</p>`)}
<dl class="cards">
  ${card('Requests', count(total.measured + failures(result)), `${perSecond(result)} per second for ${seconds(result.seconds)}`)}
  ${card('Median', ms(total.p50Ms), 'half of the requests were faster')}
  ${card('p99', ms(total.p99Ms), total.p99Ms === null ? 'too few requests' : 'one request in a hundred was slower')}
  ${card('Failed', count(total.failed), total.failed === 0 ? 'every request was answered' : share(total.failed, total.measured + failures(result)))}
  ${card('Network', ms(floor.p50Ms), `median round trip of ${floor.wire} without load`)}
</dl>

<section>
<h2>Latency</h2>
<p>Measured from the scheduled time of a request until its response was complete. From 90 % on, each step on the axis is
ten times rarer than the previous one. A line ends before the slowest request, which the table shows as max.</p>
${lineChart({
  description: 'Latency in milliseconds by the share of requests that were at least as fast, for each operation',
  x: shareAxis(Math.max(0, ...operations.flatMap(({ curve }) => curve.map(([at]) => at)))),
  yLabel: 'Latency (ms)',
  series: operations.map(({ operation, curve }) => ({
    name: operation,
    points: curve.map(([at, latency]) => [placeOfShare(at), latency] as const),
  })),
})}
<div class="scroll" role="region" aria-label="Latency by operation" tabindex="0"><table>
<thead><tr><th scope="col">Operation</th><th scope="col" class="n">p50</th><th scope="col" class="n">p90</th><th scope="col" class="n">p99</th><th scope="col" class="n">p99.9</th><th scope="col" class="n">max</th><th scope="col" class="n">Requests</th><th scope="col" class="n">Failed</th></tr></thead>
<tbody>
${rows.map((row) => html`<tr${row.wire === '' ? new Html(' class="sum"') : null}><th scope="row">${row.operation}<small>${row.wire}</small></th>${[row.p50Ms, row.p90Ms, row.p99Ms, row.p999Ms, row.maxMs].map((value) => html`<td class="n">${figure(value)}</td>`)}<td class="n">${count(row.measured)}</td><td class="n">${count(row.failed)}</td></tr>`)}
</tbody></table></div>
<p class="note">In milliseconds. A dash means too few requests for this percentile. Failed requests have no latency; unanswered ones count with the time they had waited.</p>
</section>

<section>
<h2>Over time</h2>
<h3>Latency, second by second</h3>
${lineChart({
  description: 'Median and 99th percentile of the latency in each second of the run',
  x: timeAxis(drawn.length),
  yLabel: 'Latency (ms)',
  series: [
    {
      name: plan.perSecond < 100 ? 'p99 (below 100 requests in a second: the slowest)' : 'p99',
      points: drawn.flatMap(({ second, p99Ms }) => (p99Ms === null ? [] : [[second + 0.5, p99Ms] as const])),
    },
    {
      name: 'p50',
      points: drawn.flatMap(({ second, p50Ms }) => (p50Ms === null ? [] : [[second + 0.5, p50Ms] as const])),
    },
  ],
})}
<h3>Requests per second</h3>
${lineChart({
  description: 'Requests scheduled, answered and failed in each second of the run',
  x: timeAxis(drawn.length),
  yLabel: 'Requests per second',
  series: [
    { name: 'due', points: drawn.map(({ second, due }) => [second + 0.5, due] as const) },
    { name: 'answered', points: drawn.map(({ second, answered }) => [second + 0.5, answered] as const) },
    ...(total.failed === 0
      ? []
      : [{ name: 'failed', points: drawn.map(({ second, failed }) => [second + 0.5, failed] as const) }]),
  ],
})}
<p class="note">The two lines lie on each other as long as the service keeps up. They are jagged because requests arrive at random, as those of independent clients do.</p>
</section>

<section>
<h2>Answers by code</h2>
<div class="scroll" role="region" aria-label="Answers by code" tabindex="0"><table>
<thead><tr><th scope="col">Operation</th><th scope="col">Answer</th><th scope="col" class="n">Requests</th><th scope="col" class="n">Share</th></tr></thead>
<tbody>
${rows
  .filter(({ wire }) => wire !== '')
  .flatMap(({ operation, outcomes }) => {
    const sum = Object.values(outcomes).reduce((a, b) => a + b, 0)
    return Object.entries(outcomes).map(
      ([outcome, times]) =>
        html`<tr><th scope="row">${operation}</th><td>${outcome}</td><td class="n">${count(times)}</td><td class="n">${share(times, sum)}</td></tr>`,
    )
  })}
</tbody></table></div>
<p class="note">409 and 422 are the service's decisions (nights taken, minimum stay, restrictions). They take the same work as a success and do not count as failures.</p>
</section>

<section>
<h2>How to read this</h2>
<p><strong>Requests do not wait for earlier responses.</strong> They were scheduled at random times, ${plan.perSecond} per second on average, as if sent by many
independent clients (an open loop). If the service stalls for a second, every request scheduled in that second is late, and its latency counts from
the scheduled time, not from when it could be sent. A closed loop, in which each client waits for its response, would send nothing during the stall
and hide it.</p>
<p><strong>p99</strong> is the latency that 99 of 100 requests did not exceed. It says more than an average: about one in ten views of a page that makes ten
requests is affected by it. p50 is the median. Percentiles of different runs cannot be averaged.</p>
<p><strong>The network is part of every figure.</strong> ${floor.requests} round trips of <code>${floor.wire}</code> before the load took at least ${ms(floor.minMs)}, at most
${ms(floor.maxMs)} and ${ms(floor.p50Ms)} in the median. Time above that was spent in the service or waiting for it.</p>
<p><strong>The load generator was ${isLate(result) ? 'late' : 'on time'}</strong>: it was ready to send 99 of 100 requests within ${ms(result.generator.lateP99Ms)} of their scheduled time,
and all within ${ms(result.generator.lateMaxMs)}. The figures include that delay${isLate(result) ? ', which is too large for them to be trusted' : ''}.</p>
</section>

<section>
<h2>What was run</h2>
<dl class="facts">
${facts(result).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
</dl>
</section>
</main>
</body>
</html>
`
  return page.text
}

/** The main result, in a few sentences. */
export function headline({ total, seconds: ran, plan, floor }: BenchResult): string {
  if (total.measured === 0) return 'No request was measured.'
  const slow = total.p99Ms === null ? `the slowest within ${ms(total.maxMs)}` : `99 of 100 within ${ms(total.p99Ms)}`
  const failed = total.failed === 0 ? 'None failed.' : `${count(total.failed)} failed.`
  return (
    `At ${plan.perSecond} requests per second for ${seconds(ran)}, half of the requests were answered within ${ms(total.p50Ms)}, ${slow}. ` +
    `The network takes ${ms(floor.p50Ms)} of that. ${failed}`
  )
}

function facts(result: BenchResult): [string, string][] {
  const { plan, limits, cleanup } = result
  return [
    [
      'Service',
      `${result.url}, ${result.serviceVersion === null ? 'version unknown' : `version ${result.serviceVersion}`}`,
    ],
    ['Agency', `${result.agency}${result.isSandbox ? ' (sandbox)' : ''}`],
    ['Started', result.startedAt.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')],
    [
      'Load',
      `${plan.mix}: ${plan.perSecond} requests per second for ${plan.durationS} s, ${plan.connections} connections`,
    ],
    [
      'Limits of the key',
      `${count(limits.requestsPerMinute)} requests per minute, ${count(limits.leftOfMonth)} left this month`,
    ],
    ...(cleanup === null
      ? []
      : [
          ['Bookings', `${cleanup.booked} made, ${cleanup.cancelled} cancelled, ${cleanup.left.length} left`] as [
            string,
            string,
          ],
        ]),
    ['Generator', `nightledger ${result.version}`],
  ]
}

function card(name: string, value: string, note: string): Html {
  return html`<div><dt>${name}</dt><dd>${value}<small>${note}</small></dd></div>`
}

/** Failures without a latency, so that all requests are counted once. */
function failures({ total }: BenchResult): number {
  return Object.values(total.outcomes).reduce((a, b) => a + b, 0) - total.measured
}

function perSecond({ timeline, seconds: ran }: BenchResult): string {
  const answered = timeline.reduce((sum, second) => sum + second.answered, 0)
  return `${(answered / Math.max(ran, 0.001)).toFixed(1)} answers`
}

function ms(value: number | null): string {
  return value === null ? '–' : `${figure(value)} ms`
}

/** Three significant digits: more is noise. */
export function figure(value: number | null): string {
  if (value === null) return '–'
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value.toFixed(value >= 10 ? 1 : 2)
}

function count(value: number): string {
  return value.toLocaleString('en')
}

function seconds(value: number): string {
  return `${Number(value.toFixed(1))} s`
}

function share(part: number, whole: number): string {
  return `${((100 * part) / Math.max(1, whole)).toFixed(part === whole ? 0 : 2)} %`
}

const STYLE = `
:root { color-scheme: light dark; --bg: light-dark(#f7f8fa, #0f1115); --surface: light-dark(#fff, #16191f); --border: light-dark(#e2e5eb, #2a303a);
  --text: light-dark(#171a21, #e8eaef); --text-2: light-dark(#545c6b, #a6aebb); --warn: light-dark(#8a5200, #f0b860); --warn-bg: light-dark(#fdf1dc, #33260f);
  --bad: light-dark(#b3261e, #ff8f86); --bad-bg: light-dark(#fdebe9, #3a1a18);
  --s0: light-dark(#3d49c2, #a5aefb); --s1: light-dark(#17704a, #6fd3a4); --s2: light-dark(#b3261e, #ff8f86); --s3: light-dark(#8a5200, #f0b860); --s4: light-dark(#7a2a8c, #dc9cf0); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--text); font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; }
main { max-width: 860px; margin: 0 auto; padding: 40px 20px 64px; }
h1 { margin: 0; font-size: 30px; line-height: 1.2; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { margin: 0 0 8px; font-size: 19px; } h3 { margin: 20px 0 6px; font-size: 15px; }
p { margin: 0 0 12px; } small { display: block; color: var(--text-2); font-size: 12px; font-weight: 400; }
.eyebrow { margin: 0 0 4px; color: var(--text-2); font-size: 13px; } .lead { margin: 12px 0 20px; font-size: 17px; } .note { color: var(--text-2); font-size: 13px; margin: 10px 0 0; }
section { margin-top: 20px; padding: 22px 24px; background: var(--surface); border: 1px solid var(--border); border-radius: 10px; }
.warning { margin: 0 0 10px; padding: 10px 14px; border-radius: 8px; background: var(--warn-bg); color: var(--warn); overflow-wrap: anywhere; } .warning.bad { background: var(--bad-bg); color: var(--bad); font-weight: 600; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px; margin: 20px 0 0; }
.cards > div { padding: 14px 16px; background: var(--surface); border: 1px solid var(--border); border-radius: 10px; }
.cards dt { color: var(--text-2); font-size: 13px; } .cards dd { margin: 2px 0 0; font-size: 24px; font-weight: 600; font-variant-numeric: tabular-nums; } .cards small { margin-top: 2px; line-height: 1.4; }
.scroll { overflow-x: auto; } .chart { display: block; width: 100%; height: auto; } .chart.narrow { display: none; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 8px 0 4px; color: var(--text-2); font-size: 13px; } .legend span { display: inline-flex; align-items: center; gap: 6px; }
.grid { stroke: var(--border); } .axis, .mark { stroke: var(--text-2); } .tick, .label { fill: var(--text-2); font-size: 12px; } .label { font-size: 12.5px; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.line.s0 { stroke: var(--s0); } .line.s1 { stroke: var(--s1); stroke-dasharray: 7 4; } .line.s2 { stroke: var(--s2); stroke-dasharray: 2 4; } .line.s3 { stroke: var(--s3); stroke-dasharray: 9 4 2 4; } .line.s4 { stroke: var(--s4); stroke-dasharray: 4 3; }
.dot.s0 { fill: var(--s0); } .dot.s1 { fill: var(--s1); } .dot.s2 { fill: var(--s2); } .dot.s3 { fill: var(--s3); } .dot.s4 { fill: var(--s4); }
table { width: 100%; border-collapse: collapse; font-size: 14px; margin-top: 12px; } th, td { padding: 7px 10px; border-bottom: 1px solid var(--border); text-align: left; vertical-align: top; white-space: nowrap; }
thead th { color: var(--text-2); font-size: 12px; font-weight: 500; } tbody th { font-weight: 500; } tbody tr:last-child > * { border-bottom: 0; } .n { text-align: right; font-variant-numeric: tabular-nums; } .sum > * { font-weight: 600; border-top: 2px solid var(--border); }
.facts { margin: 0; } .facts > div { display: grid; grid-template-columns: 150px 1fr; gap: 12px; padding: 5px 0; } .facts dt { color: var(--text-2); } .facts dd { margin: 0; overflow-wrap: anywhere; }
code { font: 13px ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
@media (max-width: 560px) { main { padding: 24px 14px 40px; } h1 { font-size: 24px; } .lead { font-size: 16px; } section { padding: 16px 14px; } .chart.wide { display: none; } .chart.narrow { display: block; } table { font-size: 13px; } th, td { padding: 6px; } .cards { grid-template-columns: 1fr 1fr; gap: 8px; } .cards > :last-child:nth-child(odd) { grid-column: 1 / -1; } .facts > div { grid-template-columns: 1fr; gap: 0; } }
@media print { :root { color-scheme: light; } body { background: none; font-size: 12px; } .cards { grid-template-columns: repeat(5, 1fr); } main { max-width: none; padding: 0; } section, .cards > div { break-inside: avoid; } .scroll { overflow: visible; } .chart { max-height: 7.5cm; } }
`
