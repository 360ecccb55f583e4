import { EtcdClient } from '../../cluster/etcd/etcd-client.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import { type Check, failure, ok, skipped, warning } from './check.ts'

/** All keys of the service; there may be none. */
const PREFIX = '/nightledger/'

/** Whether each member of etcd answers a read that a majority has to confirm. */
export const etcd: Check = {
  name: 'etcd',
  run: async ({ config: { cluster } }) => {
    if (cluster === null) return [skipped('CLUSTER_ETCD is not set: this process is not a cluster node.')]
    const { origins, user } = cluster.etcd
    const failures = await Promise.all(
      origins.map((origin) =>
        new EtcdClient({ origins: [origin], user }, { tls: cluster.tls }).read(PREFIX).then(
          () => null,
          (error: unknown) => ({ origin, reason: reasonOf(error) }),
        ),
      ),
    )
    const failed = failures.filter((one) => one !== null)
    if (failed.length === 0) return [ok(`All ${origins.length} members of etcd answer.`)]
    const fix = 'Start the member again (`systemctl restart etcd` on its host), and check the network and CLUSTER_ETCD.'
    if (failed.length < origins.length)
      return failed.map(({ reason }) => warning(`A member of etcd does not answer: ${reason}.`, fix))
    return [failure(`No member of etcd answers: ${failed.map(({ reason }) => reason).join('; ')}.`, fix)]
  },
}
