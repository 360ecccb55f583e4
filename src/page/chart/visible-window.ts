/**
 * Which rows and days are in the document. It is a little more than what can be seen, and moves in blocks, so that
 * most scroll events change nothing and no strip stays empty between an event and the frame that answers it.
 */
export interface VisibleWindow {
  readonly rowFrom: number
  /** Exclusive. */
  readonly rowTo: number
  /** Counted from the first day of the chart. */
  readonly dayFrom: number
  /** Exclusive. */
  readonly dayTo: number
}

interface Viewport {
  readonly scrollTop: number
  readonly scrollLeft: number
  /** Of the part that shows days and rows, without the header and the column of units. */
  readonly width: number
  readonly height: number
}

interface Extent {
  readonly rowHeight: number
  readonly rows: number
  readonly dayWidth: number
  readonly days: number
}

const ROWS_PER_BLOCK = 4
const BLOCKS_AHEAD = 1

export function visibleWindow(viewport: Viewport, { rowHeight, rows, dayWidth, days }: Extent): VisibleWindow {
  // Half of what is seen: a block is crossed rarely, and the three blocks or so in the document stay small.
  const daysPerBlock = Math.max(4, Math.ceil(viewport.width / dayWidth / 2))
  const [rowFrom, rowTo] = blocks(viewport.scrollTop, viewport.height, rowHeight, ROWS_PER_BLOCK, rows)
  const [dayFrom, dayTo] = blocks(viewport.scrollLeft, viewport.width, dayWidth, daysPerBlock, days)
  return { rowFrom, rowTo, dayFrom, dayTo }
}

export function isSameWindow(a: VisibleWindow, b: VisibleWindow): boolean {
  return a.rowFrom === b.rowFrom && a.rowTo === b.rowTo && a.dayFrom === b.dayFrom && a.dayTo === b.dayTo
}

function blocks(start: number, length: number, size: number, perBlock: number, count: number): [number, number] {
  const blockSize = size * perBlock
  const from = (Math.floor(Math.max(0, start) / blockSize) - BLOCKS_AHEAD) * perBlock
  const to = (Math.floor((Math.max(0, start) + length) / blockSize) + 1 + BLOCKS_AHEAD) * perBlock
  return [Math.min(Math.max(0, from), count), Math.min(to, count)]
}
