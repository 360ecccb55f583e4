import { describe, expect, test } from 'bun:test'
import { type Argued, verdictOf } from '../support/audit-verdict.ts'

/** As `npm audit --json` prints it, without the parts that nobody reads. */
function report(vulnerabilities: Record<string, object>): string {
  return JSON.stringify({ auditReportVersion: 2, vulnerabilities, metadata: { vulnerabilities: {} } })
}

const QS = {
  name: 'qs',
  severity: 'moderate',
  isDirect: false,
  via: [
    {
      source: 1_104_115,
      name: 'qs',
      dependency: 'qs',
      title: 'arrayLimit does not hold for bracket keys',
      url: 'https://github.com/advisories/GHSA-6rw7-vpxm-498p',
      severity: 'moderate',
      cwe: ['CWE-20'],
      cvss: { score: 3.7, vectorString: 'CVSS:3.1/AV:N/AC:H/PR:N/UI:N/S:U/C:N/I:N/A:L' },
      range: '<6.14.1',
    },
  ],
  effects: ['body-parser'],
  range: '<6.14.1',
  nodes: ['node_modules/qs'],
  fixAvailable: true,
}
/** A package that is reported for the sake of another. */
const BODY_PARSER = { ...QS, name: 'body-parser', via: ['qs'], effects: [], nodes: ['node_modules/body-parser'] }

const FINDING = {
  package: 'qs',
  version: '6.14.0',
  advisory: 'GHSA-6rw7-vpxm-498p',
  severity: 'moderate',
  title: 'arrayLimit does not hold for bracket keys',
}
const ARGUED: Argued = { package: 'qs', version: '6.14.0', advisory: 'GHSA-6rw7-vpxm-498p' }

function judge(printed: string, argued: readonly Argued[] = []) {
  return verdictOf(printed, { argued, versionAt: (path) => (path === 'node_modules/qs' ? '6.14.0' : undefined) })
}

describe('an audit', () => {
  test('without findings is clean', () => {
    expect(judge(report({}))).toEqual({ kind: 'clean' })
  })

  test('with a finding that nobody argued says which package, version and advisory', () => {
    expect(judge(report({ qs: QS, 'body-parser': BODY_PARSER }))).toEqual({ kind: 'unargued', findings: [FINDING] })
  })

  test('passes a finding that is argued', () => {
    expect(judge(report({ qs: QS, 'body-parser': BODY_PARSER }), [ARGUED])).toEqual({
      kind: 'argued',
      findings: [FINDING],
    })
  })

  test.each([
    ['version', { ...ARGUED, version: '6.13.0' }],
    ['advisory', { ...ARGUED, advisory: 'GHSA-w7fw-mjwx-w883' }],
    ['package', { ...ARGUED, package: 'body-parser' }],
  ])('does not pass it by an argument for another %s', (_, argued) => {
    expect(judge(report({ qs: QS }), [argued]).kind).toBe('unargued')
  })

  test('names each place where the package is installed, and leaves out the argued one', () => {
    const twice = { ...QS, nodes: ['node_modules/qs', 'node_modules/express/node_modules/qs'] }
    expect(judge(report({ qs: twice }), [ARGUED])).toEqual({
      kind: 'unargued',
      findings: [{ ...FINDING, version: 'unknown' }],
    })
  })

  test('that reports packages without an advisory is not taken for clean', () => {
    expect(() => judge(report({ 'body-parser': BODY_PARSER }))).toThrow('Cannot read the audit')
  })

  test.each([
    [
      'a registry that refuses',
      { message: '405', method: 'POST', statusCode: 405, error: { summary: '' } },
      'the registry answered 405',
    ],
    ['a name that is not found', { message: 'ENOTFOUND', error: { code: 'ENOTFOUND' } }, 'ENOTFOUND'],
    ['no connection', { message: 'request failed', error: { summary: '' } }, 'the registry did not answer'],
    ['a report of another shape', { actions: [], advisories: {} }, 'the registry did not answer'],
  ])('is no report when npm met %s', (_, printed, why) => {
    expect(judge(JSON.stringify(printed))).toEqual({ kind: 'no-report', why })
  })

  test.each(['', 'npm: not found', 'null'])('is no report when npm printed %j', (printed) => {
    expect(judge(printed)).toEqual({ kind: 'no-report', why: 'npm printed no JSON' })
  })
})
