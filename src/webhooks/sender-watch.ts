/** Events the sender reports, one log line each. Fields never contain a secret, a URL or a body. */
export interface SenderWatch {
  onSwitchedOff(fields: { agencyId: string; endpointId: string; reason: string | null }): void
  onFailure(fields: { action: 'make' | 'claim' | 'record'; err: unknown }): void
  onSecretUnreadable(fields: { agencyId: string; endpointId: string }): void
  /** The journal entry of an event is damaged, or its month was removed: the delivery is dead. */
  onEventUnreadable(fields: { agencyId: string; deliveryId: string; eventId: string }): void
  /** Another sender has replaced this one, which sends nothing more. */
  onReplaced(cause: unknown): void
}
