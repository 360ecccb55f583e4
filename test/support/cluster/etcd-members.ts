/** The members of etcd, one on each host. */
import { eventually } from '../eventually.ts'
import { ask } from './ask.ts'
import { UNITS } from './documented-files.ts'
import type { Host } from './host.ts'

interface Status {
  readonly leader: string
  readonly header: { readonly member_id: string }
}

export class EtcdMembers {
  readonly #hosts: readonly Host[]

  constructor(hosts: readonly Host[]) {
    this.#hosts = hosts
  }

  start(host: Host): void {
    host.start('etcd', UNITS.etcd)
  }

  /** @returns the host of the leader. @throws Error when there is none within a minute */
  async leader(): Promise<Host> {
    let leader: Host | undefined
    await eventually(
      'etcd has a leader',
      async () => {
        const answers = await Promise.all(this.#hosts.map(statusOf))
        leader = this.#hosts.find((_, i) => answers[i] !== null && answers[i]?.leader === answers[i]?.header.member_id)
        return leader !== undefined
      },
      60_000,
    )
    return leader as Host
  }

  /** As `etcdctl member remove` and `member add`, on another host. */
  async replaceMember({ name }: Host): Promise<void> {
    // It may have led.
    await this.leader()
    const [other] = this.#hosts.filter((host) => host.name !== name) as [Host]
    const { members } = (await called(other, 'member/list')) as { members: { ID: string; name: string }[] }
    await called(other, 'member/remove', { ID: members.find((member) => member.name === name)?.ID })
    await called(other, 'member/add', { peerURLs: [`http://${name}:2380`] })
  }
}

async function called({ address }: Host, what: string, body: object = {}): Promise<unknown> {
  const answer = await fetch(`http://${address}:2379/v3/cluster/${what}`, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  })
  if (answer.status !== 200) throw new Error(`etcd refuses ${what}: ${await answer.text()}`)
  return answer.json()
}

async function statusOf({ address }: Host): Promise<Status | null> {
  const answer = await ask(`http://${address}:2379/v3/maintenance/status`, { method: 'POST', body: '{}' })
  return answer?.status === 200 ? ((await answer.json()) as Status) : null
}
