import { describe, expect, test } from 'bun:test'
import { addCounts, closingLine, countsOf, noCounts } from './junit.ts'

const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="5" assertions="2" failures="1" skipped="2" time="0.05">
  <testsuite name="test/a.test.ts" file="test/a.test.ts" tests="5" failures="1" skipped="2" time="0.55">
    <testcase name="passes" classname="" time="0.1" file="test/a.test.ts" line="2" assertions="1" />
    <testcase name="fails &quot;&lt;x/&gt;" classname="" time="0.2" file="test/a.test.ts" line="2" assertions="1">
      <failure type="AssertionError" message="no">AssertionError: no&#10;  at a.ts&#10;</failure>
    </testcase>
    <testcase name="skipped" classname="" time="0" file="test/a.test.ts" line="2" assertions="0">
      <skipped />
    </testcase>
    <testsuite name="group" file="test/a.test.ts" tests="1">
      <testcase name="waits" classname="group" time="0.1" file="test/b.test.ts" line="3" assertions="0">
        <failure type="TimeoutError" message="test timed out" />
      </testcase>
      <testcase name="passes too" classname="group" time="0.1" file="test/b.test.ts" line="3" assertions="0" />
    </testsuite>
  </testsuite>
</testsuites>`

describe('the counts of a test run', () => {
  test('counts each case once, however deep, and knows the files, their time and what failed', () => {
    expect(countsOf(REPORT)).toEqual({
      passed: 2,
      failed: 2,
      skipped: 1,
      files: new Map([
        ['test/a.test.ts', 550],
        ['test/b.test.ts', 0],
      ]),
      failures: [
        'test/a.test.ts: fails "<x/>\nAssertionError: no\n  at a.ts',
        'test/b.test.ts: group > waits\ntest timed out',
      ],
    })
  })

  test('of no report is nothing at all', () => {
    expect(countsOf('')).toEqual(noCounts())
  })

  test('of several runs are added', () => {
    const sum = noCounts()
    addCounts(sum, countsOf(REPORT))
    addCounts(sum, { ...noCounts(), passed: 1, files: new Map([['test/c.test.ts', 7]]), failures: ['c'] })
    expect(closingLine(sum)).toBe('3 passed, 2 failed, 1 skipped')
    expect([...sum.files.keys()]).toEqual(['test/a.test.ts', 'test/b.test.ts', 'test/c.test.ts'])
    expect(sum.failures).toHaveLength(3)
  })

  test('closes with skipped only if there is some', () => {
    expect(closingLine(countsOf(REPORT))).toBe('2 passed, 2 failed, 1 skipped')
    expect(closingLine({ ...countsOf(REPORT), skipped: 0 })).toBe('2 passed, 2 failed')
  })
})
