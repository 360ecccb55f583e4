/** Where things are on the calendar in a browser, and how a mouse or a finger moves them. */
import type { Locator, Page } from 'playwright-core'

interface Point {
  readonly x: number
  readonly y: number
}

/** The bar of a stay, by its guest or what it is. */
export function bar(page: Page, name: string): Locator {
  return page.getByRole('gridcell', { name: `${name},` })
}

export async function boxOf(locator: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  await locator.waitFor()
  const box = await locator.boundingBox()
  if (box === null) throw new Error('Cannot find a place on the page: the element is not drawn')
  return box
}

export async function middle(locator: Locator): Promise<Point> {
  const { x, y, width, height } = await boxOf(locator)
  return { x: x + width / 2, y: y + height / 2 }
}

/** Where the column of a day crosses the row of a unit. @param unit its name */
export async function cell(page: Page, unit: string, day: number): Promise<Point> {
  const row = await middle(page.locator('.chart-unit', { hasText: unit }))
  const column = await middle(page.getByRole('columnheader', { name: dayName(day) }))
  return { x: column.x, y: row.y }
}

/** As the chart's header says it, in the language of the tests' browser. @param day since 1970 */
export function dayName(day: number): RegExp {
  const date = new Date(day * 86_400_000)
  const part = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }).format(date)
  return new RegExp(`${part({ weekday: 'long' })},? ${part({ day: 'numeric', month: 'long', year: 'numeric' })}$`)
}

export async function drag(page: Page, from: Point, to: Point): Promise<void> {
  await page.mouse.move(from.x, from.y)
  await page.mouse.down()
  await page.mouse.move(from.x + (to.x - from.x) / 3, from.y + (to.y - from.y) / 3, { steps: 3 })
  await page.mouse.move(to.x, to.y, { steps: 5 })
  await page.mouse.up()
}

export async function tap(page: Page, { x, y }: Point): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setTouchEmulationEnabled', { enabled: true })
  await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] })
  await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  await session.detach()
}
