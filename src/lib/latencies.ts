/** Every latency of one run, so that percentiles are exact. */
export class Latencies {
  #ns = new Float64Array(1 << 10)
  #size = 0

  add(ns: number): void {
    if (this.#size === this.#ns.length) {
      const larger = new Float64Array(this.#ns.length * 2)
      larger.set(this.#ns)
      this.#ns = larger
    }
    this.#ns[this.#size++] = ns
  }

  get size(): number {
    return this.#size
  }

  /** Milliseconds, sorted in place: nothing may be added after it. */
  percentiles<const P extends readonly number[]>(wanted: P): { [K in keyof P]: number } {
    const sorted = this.#ns.subarray(0, this.#size).sort()
    return wanted.map((p) => (sorted[Math.min(this.#size - 1, Math.floor(p * this.#size))] ?? 0) / 1e6) as {
      [K in keyof P]: number
    }
  }
}
