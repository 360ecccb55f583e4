const KINDS = [
  ['draft', 'Draft'],
  ['hold', 'Hold'],
  ['confirmed', 'Confirmed'],
  ['checked-in', 'Checked in'],
  ['checked-out', 'Checked out'],
  ['owner', 'Owner stay'],
  ['maintenance', 'Maintenance'],
  ['block', 'Block'],
] as const

/** What the looks of the bars mean. */
export function CalendarLegend() {
  return (
    <ul class="calendar-legend" aria-label="Legend">
      {KINDS.map(([kind, label]) => (
        <li key={kind}>
          <span class={`chart-bar chart-bar-${kind} calendar-swatch`} aria-hidden="true" />
          {label}
        </li>
      ))}
      <li>
        <span class="chart-bar chart-bar-confirmed is-due calendar-swatch" aria-hidden="true" />
        Due today
      </li>
      <li>
        <span class="calendar-swatch calendar-swatch-cleaning" aria-hidden="true" />
        Cleaning
      </li>
      <li>
        <span class="calendar-swatch calendar-swatch-extension" aria-hidden="true" />
        Expected extension
      </li>
    </ul>
  )
}
