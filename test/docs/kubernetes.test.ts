/** The files of deploy/kubernetes/: valid for the cluster's API, and in agreement with the image, the configuration and the alerts. */
import { describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { StatefulSet } from 'kubernetes-types/apps/v1'
import type { Job } from 'kubernetes-types/batch/v1'
import type { Container, PodSpec, Secret, Service } from 'kubernetes-types/core/v1'
import type { NetworkPolicy } from 'kubernetes-types/networking/v1'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/app/config.ts'
import { environmentOf, lastStep, readStages } from '../support/dockerfile.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'

const FOLDER = 'deploy/kubernetes'
const DOCUMENT = readFileSync('docs/operating/kubernetes.md', 'utf8')

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}

function manifestsIn(file: string): Manifest[] {
  return parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).map((document) => document.toJS())
}

const manifests = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.yaml'))
  .flatMap(manifestsIn)

function manifest<T>(kind: string, name = 'nightledger'): T {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name)
  if (found === undefined) throw new Error(`There is no ${kind} ${name} in ${FOLDER}`)
  return found as T
}

/** What the compiler says of each manifest as a literal of its type in the API: unknown or missing fields, values of another type. */
function faultsOf(documents: readonly Manifest[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-kubernetes-'))
  try {
    const lines = documents.flatMap((document, i) => {
      const [version = '', group = 'core'] = document.apiVersion.split('/').reverse()
      const module = `kubernetes-types/${group.replace(/\.k8s\.io$/, '')}/${version}`
      return [
        `import type { ${document.kind} as T${i} } from '${module}'`,
        `export const m${i}: T${i} = ${JSON.stringify(document)}`,
      ]
    })
    writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'))
    const paths = { 'kubernetes-types/*': [resolve('node_modules/kubernetes-types/*')] }
    const options = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      types: [],
      paths,
      module: 'preserve',
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['manifests.ts'] }))
    const { stdout } = Bun.spawnSync([resolve('node_modules/.bin/tsc'), '--pretty', 'false', '--project', folder])
    const faults = documents.map(() => '')
    for (const [, line, fault] of stdout.toString().matchAll(/^\S*manifests\.ts\((\d+),\d+\): (.*)$/gm))
      faults[Math.floor((Number(line) - 1) / 2)] = fault ?? ''
    return faults
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const isOfCluster = ({ apiVersion }: Manifest) =>
  !/^(monitoring\.coreos\.com|kustomize\.config\.k8s\.io)\//.test(apiVersion)

test('the API of Kubernetes 1.30 has every field of the manifests, with a value of its type', () => {
  const valid = manifests.filter(isOfCluster)
  const text = JSON.stringify(manifest('StatefulSet'))
  const invalid = [
    text.replace('"replicas"', '"replica"'),
    text.replace('"replicas":2', '"replicas":"two"'),
    text.replace('"serviceName":', '"servicename":'),
  ].map((each) => JSON.parse(each))
  expect(faultsOf([...valid, ...invalid])).toEqual([
    ...valid.map(() => ''),
    expect.stringContaining(`'"replica"' does not exist`),
    expect.stringContaining("'string' is not assignable to type 'number'"),
    expect.stringContaining(`'"servicename"' does not exist`),
  ])
})

const statefulSet = manifest<StatefulSet>('StatefulSet')
const pods: readonly (readonly [string, PodSpec])[] = [
  ['StatefulSet', statefulSet.spec?.template.spec as PodSpec],
  ['Job', manifest<Job>('Job', 'nightledger-migrate').spec?.template.spec as PodSpec],
]
const service = pods[0]?.[1].containers[0] as Container
const image = readStages('Dockerfile').at(-1)

describe('the pods', () => {
  test.each(pods)(
    'of the %s run the image of this version as its user, with nothing that they do not need',
    (_, pod) => {
      const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
      const [container] = pod.containers
      expect(container?.image).toBe(`nightledger:${version}`)
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 65_532,
        seccompProfile: { type: 'RuntimeDefault' },
      })
      expect(image && lastStep(image, 'USER')?.text).toBe('nonroot')
      expect(container?.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect([pod.automountServiceAccountToken, container?.resources?.limits]).toEqual([false, { memory: '512Mi' }])
    },
  )

  test('have a valid configuration with the secrets of the example, once they are filled in', () => {
    const own = Object.fromEntries((service.env ?? []).map(({ name, value }) => [name, value]))
    const secret = manifest<Secret>('Secret').stringData ?? {}
    const filled = Object.fromEntries(Object.entries(secret).map(([name, value]) => [name, value || 'a'.repeat(64)]))
    const fromImage = image === undefined ? {} : environmentOf(image)
    const config = readConfig({ ...fromImage, ...filled, ...own })
    const ports = Object.fromEntries((service.ports ?? []).map(({ name, containerPort }) => [name, containerPort]))
    expect(config).toMatchObject({
      environment: 'production',
      host: '0.0.0.0',
      port: ports['http'],
      admin: { port: ports['admin'], host: '0.0.0.0' },
      dataDir: service.volumeMounts?.[0]?.mountPath,
    })
    // Every variable is one that the service knows.
    const known = readFileSync('docs/operating.md', 'utf8')
    for (const name of [...Object.keys(own), ...Object.keys(secret)]) expect(known).toContain(`\`${name}\``)
    expect(() => readConfig({ ...fromImage, ...secret, ...own })).toThrow(
      /PORTAL_TOKEN is required.*\n.*SECRET_KEY is required/,
    )
    const migration = manifest<Secret>('Secret', 'nightledger-migration').stringData ?? {}
    expect(Object.keys(migration)).toEqual(['DATABASE_URL', 'MIGRATION_DATABASE_URL'])
  })

  test('are asked on the admin port whether they are alive and ready, and have longer to stop than a drain takes', () => {
    expect(service.livenessProbe?.httpGet).toEqual({ path: '/healthz', port: 'admin' })
    expect(service.readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'admin' })
    const drainMsMax = Number(
      /DRAIN_MS_MAX = ([\d_]+)/.exec(readFileSync('src/app/service.ts', 'utf8'))?.[1]?.replaceAll('_', ''),
    )
    expect((statefulSet.spec?.template.spec?.terminationGracePeriodSeconds ?? 0) * 1_000).toBeGreaterThan(
      drainMsMax + 2_000,
    )
    expect(service.lifecycle).toBeUndefined()
  })
})

test('an update never waits for the standby, which is never ready', () => {
  expect(statefulSet.spec).toMatchObject({
    replicas: 2,
    podManagementPolicy: 'Parallel',
    updateStrategy: { type: 'OnDelete' },
  })
})

test('clients reach the writer alone; Prometheus sees both', () => {
  const labels = statefulSet.spec?.template.metadata?.labels
  expect(statefulSet.spec?.selector.matchLabels).toEqual(labels)
  const [open, headless] = [manifest<Service>('Service').spec, manifest<Service>('Service', 'nightledger-pods')]
  expect([open?.selector, open?.publishNotReadyAddresses, open?.ports?.map(({ targetPort }) => targetPort)]).toEqual([
    labels,
    undefined,
    ['http'],
  ])
  expect(headless.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true, selector: labels })
  expect(statefulSet.spec?.serviceName).toBe('nightledger-pods')
  const monitor = manifest<{ spec: { selector: { matchLabels: object }; endpoints: object[] } }>('ServiceMonitor').spec
  expect(headless.metadata?.labels).toEqual(monitor.selector.matchLabels as Record<string, string>)
  expect(monitor.endpoints).toMatchObject([{ port: headless.spec?.ports?.[0]?.name, path: '/metrics' }])
})

test('only Prometheus reaches the admin port', () => {
  const ingress = manifest<NetworkPolicy>('NetworkPolicy').spec?.ingress ?? []
  const sources = ingress.map(({ from, ports }) => [
    ports?.map(({ port }) => port),
    from?.map(({ namespaceSelector }) => namespaceSelector?.matchLabels?.['kubernetes.io/metadata.name']),
  ])
  expect(sources).toEqual([
    [['http'], ['ingress-nginx']],
    [['admin'], ['monitoring']],
  ])
})

test('kustomize puts the manifests and the image of this version together', () => {
  const { resources, images } = parse(readFileSync(join(FOLDER, 'kustomization.yaml'), 'utf8'))
  expect(resources).toEqual(['nightledger.yaml'])
  expect(service.image).toBe(`${images[0].name}:${images[0].newTag}`)
})

test('the command of the document makes a PrometheusRule with all alerts, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nightledger-kubectl-'))
  try {
    const block = shellBlocksOf(sectionOf(DOCUMENT, 'Prometheus')).find(({ script }) => script.includes('alerts.yaml'))
    writeFileSync(join(folder, 'kubectl'), `#!/bin/sh\ncase "$*" in *"--filename -"*) cat ;; esac\n`, { mode: 0o755 })
    const { stdout, exitCode } = Bun.spawnSync(['bash', '-euo', 'pipefail', '-c', block?.script ?? 'false'], {
      env: { PATH: `${folder}:${process.env['PATH']}` },
    })
    expect(exitCode).toBe(0)
    expect(parse(stdout.toString())).toEqual({
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: { name: 'nightledger' },
      spec: parse(readFileSync('deploy/prometheus/alerts.yaml', 'utf8')),
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
