/** Measures from now until it is called: the most CPU time between two turns of the event loop, milliseconds. */
export function longestHold(): () => number {
  let longest = 0
  let last = process.threadCpuUsage()
  let isOver = false
  const turn = () => {
    longest = Math.max(longest, cpuMsSince(last))
    last = process.threadCpuUsage()
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    isOver = true
    return longest
  }
}

/** Of this thread: on a busy machine, the time that passed says how long others ran. */
export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
