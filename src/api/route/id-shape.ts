const ID = /^[A-Za-z0-9_-]{1,64}$/

/** Whether an id could be one of ours: nothing else is looked up or stored. */
export function isIdShaped(id: string): boolean {
  return ID.test(id)
}
