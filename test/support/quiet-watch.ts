import type { NodeWatch } from '../../src/cluster/node-watch.ts'

const nothing = () => {}

/** For tests that look at what a node does, not at what it tells. */
export const QUIET_WATCH: NodeWatch = {
  onJoined: nothing,
  onLeaseLost: nothing,
  onNodeIdTaken: nothing,
  onEtcdFailure: nothing,
  onEtcdBack: nothing,
  onAcquired: nothing,
  onReleased: nothing,
  onDropped: nothing,
  onFenced: nothing,
  onMoveFailure: nothing,
  onDatabaseMissed: nothing,
  onDatabaseBack: nothing,
}
