/** Whether somebody works with the page. What it reads by itself beyond that must not keep the session alive for ever. */

/** What a person has done may be followed by requests for so long. */
const PRESENT_MS = 60_000

/** Opening the page counts. */
let lastDeedAt = performance.now()

for (const type of ['pointerdown', 'keydown', 'wheel', 'touchstart'])
  addEventListener(type, () => (lastDeedAt = performance.now()), { capture: true, passive: true })

export function isSomebodyThere(): boolean {
  return performance.now() - lastDeedAt < PRESENT_MS
}
