/**
 * Waits until `isThere` holds: never a sleep that is long enough most of the time.
 * @throws Error naming `what` after `withinMs`, which only bounds how long a failure takes
 */
export async function eventually(
  what: string,
  isThere: () => boolean | Promise<boolean>,
  withinMs = 60_000,
): Promise<void> {
  const until = performance.now() + withinMs
  while (!(await isThere())) {
    if (performance.now() > until) throw new Error(`Did not happen within ${withinMs} ms: ${what}`)
    await Bun.sleep(5)
  }
}
