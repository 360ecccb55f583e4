import { describe, expect, test } from 'bun:test'
import { closingLine, tallyOf } from './junit.ts'

const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="5" assertions="2" failures="1" skipped="2" time="0.05">
  <testsuite name="test/a.test.ts" file="test/a.test.ts" tests="5" failures="1" skipped="2">
    <testcase name="passes" classname="" time="0.1" file="test/a.test.ts" line="2" assertions="1" />
    <testcase name="fails &quot;&lt;x/&gt;" classname="" time="0.2" file="test/a.test.ts" line="2" assertions="1">
      <failure type="AssertionError" message="no">AssertionError: no</failure>
    </testcase>
    <testcase name="skipped" classname="" time="0" file="test/a.test.ts" line="2" assertions="0">
      <skipped />
    </testcase>
    <testsuite name="group" file="test/a.test.ts" tests="1">
      <testcase name="passes too" classname="group" time="0.1" file="test/b.test.ts" line="3" assertions="0" />
    </testsuite>
  </testsuite>
</testsuites>`

describe('the tally of a test run', () => {
  test('counts each case once, however deep, and knows the files', () => {
    expect(tallyOf(REPORT)).toEqual({
      passed: 2,
      failed: 1,
      skipped: 1,
      files: new Set(['test/a.test.ts', 'test/b.test.ts']),
    })
  })

  test('of no report is nothing at all', () => {
    expect(tallyOf('')).toEqual({ passed: 0, failed: 0, skipped: 0, files: new Set() })
  })

  test('closes with skipped only if there is some', () => {
    expect(closingLine(tallyOf(REPORT))).toBe('2 passed, 1 failed, 1 skipped')
    expect(closingLine({ ...tallyOf(REPORT), skipped: 0 })).toBe('2 passed, 1 failed')
  })
})
