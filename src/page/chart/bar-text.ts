/**
 * Keeps the name of a bar in sight when the bar begins to the left of what is seen. `position: sticky` would do it too, but makes a
 * layer of every bar: measured, a frame of scrolling then costs twice as much.
 */
const SHIFT = '--text-shift'

/** @param edge where the days begin to be seen, in pixels from the left edge of the rows */
export function shiftBarTexts(body: Element, edge: number): void {
  for (const bar of body.querySelectorAll<HTMLElement>('.chart-bar')) {
    const { style } = bar
    const left = Number.parseFloat(style.left)
    const hidden = left < edge && left + Number.parseFloat(style.width) > edge ? `${Math.round(edge - left)}px` : ''
    if (style.getPropertyValue(SHIFT) !== hidden) style.setProperty(SHIFT, hidden)
  }
}
