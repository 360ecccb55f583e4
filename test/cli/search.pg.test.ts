import { describe, expect, test } from 'bun:test'
import { cliWith } from '../support/cli-terminal.ts'
import { sampleRules } from '../support/samples.ts'
import { sharedTestService } from '../support/test-service.ts'

const service = await sharedTestService()
const agency = await service.agency()
const key = (await service.key(agency)).secret
await service.unit(agency, { slug: 'sea-view', name: 'Sea View', city: 'Lisbon', bedrooms: 2, maxGuests: 4 })
const rules = sampleRules({ basePrice: 20_000 })
await service.unit(agency, { slug: 'garden', name: 'Garden', city: 'Porto', bedrooms: 1, maxGuests: 3, rules })

const cli = (...args: string[]) => cliWith({})('search', '--url', service.url, ...args)

const STAY = ['--arrival', '2027-03-01', '--departure', '2027-03-04']
const WINDOW = ['--from', '2027-03-01', '--to', '2027-03-05', '--nights', '3']

describe('nightledger search', () => {
  test('prints the offers as a table', async () => {
    const { code, stdout: out, stderr: err } = await cli('--key', key, ...STAY)
    expect([code, err]).toEqual([0, ''])
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['UNIT', 'NAME', 'CITY', 'BEDROOMS', 'GUESTS', 'ARRIVAL', 'DEPARTURE', 'TOTAL'],
      ['sea-view', 'Sea View', 'Lisbon', '2', '4', '2027-03-01', '2027-03-04', '35000'],
      ['garden', 'Garden', 'Porto', '1', '3', '2027-03-01', '2027-03-04', '65000'],
      [''],
    ])
    expect((await cli('--key', key, ...STAY, '--bedrooms', '9')).stdout).toBe('None.\n')
  })
  test('passes on every option, and --json prints the response', async () => {
    const party = ['--adults', '1', '--children', '2', '--extra-bed', 'yes', '--city', 'lisbon', '--bedrooms', '1']
    const shown = ['--max-total', '50000', '--each', 'stay', '--sort', '-total', '--page', '2', '--page-size', '1']
    const { stdout: out } = await cli('--key', key, ...WINDOW, ...party, ...shown, '--json')
    const query =
      'from=2027-03-01&to=2027-03-05&nights=3&adults=1&children=2&extraBed=true&city=lisbon&bedrooms=1' +
      '&maxTotal=50000&each=stay&sort=-total&page=2&pageSize=1'
    const { body } = await service.call(`/search?${query}`, { key })
    expect(JSON.parse(out)).toEqual(body)
    expect([body.totalItems, body.offers[0].arrival, body.offers[0].total]).toEqual([2, '2027-03-02', 39_500])
  })
  test('says that there are more pages', async () => {
    const { stderr: err } = await cli('--key', key, ...WINDOW, '--each', 'stay', '--page-size', '3')
    expect(err).toBe('Page 1 of 2, 4 in total (--page)\n')
  })
  test('needs a key, and says what the service refuses', async () => {
    expect(await cli(...STAY)).toMatchObject({ code: 2, stderr: expect.stringContaining('--key') })
    expect(await cli('--key', 'hr_live_wrong', ...STAY)).toMatchObject({ code: 3 })
    const refused = await cli('--key', key, ...STAY, '--nights', '3')
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('nights cannot be combined')])
    expect(await cli('--key', key, ...STAY, '--extra-bed', 'perhaps')).toMatchObject({ code: 2 })
  })
})
