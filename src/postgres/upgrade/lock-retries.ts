/** SQLSTATEs lock_not_available and deadlock_detected: the statement had no effect. */
const BUSY: readonly string[] = ['55P03', '40P01']
const AGAIN_MS = 250

/**
 * Runs a statement that gives up soon when it has to wait for a lock, until it gets it: one that waited longer would keep the
 * statements of the previous version waiting behind it.
 * @param onBusy called after the first attempts, once
 */
export async function withLockRetries<T>(
  run: () => PromiseLike<T>,
  { attempts, onBusy = () => {} }: { attempts: number; onBusy?: () => void },
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      const isBusy = error instanceof Error && 'code' in error && BUSY.includes(String(error.code))
      if (!isBusy || attempt >= attempts) throw error
      if (attempt === 4) onBusy()
      await Bun.sleep(AGAIN_MS)
    }
  }
}
