import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cliOn } from '../support/cli-terminal.ts'
import { startTestService } from '../support/test-service.ts'

let count = 0
let slug: string
let folder: string

const service = await startTestService()
const cli = cliOn(service)
const root = mkdtempSync(join(tmpdir(), 'nightledger-import-'))
afterAll(async () => {
  await service.close()
  rmSync(root, { recursive: true, force: true })
})
beforeEach(() => {
  count += 1
  slug = `agency-${count}`
  folder = join(root, slug)
  mkdirSync(folder)
  write('agency.json', JSON.stringify({ slug, name: 'Harbour', currency: 'EUR', timezone: 'Europe/Lisbon' }))
})

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text)
}

const UNITS = `slug,name,basePrice,cleaningFee,city,instantBook,turnoverNights,registrationNumber
sea-view,"Sea View, upper floor",12000,5000,Lisbon,true,1,0048213
garden,Garden,9000,,,false,,
`
const RATES = `unit,kind,name,from,to,nightlyPrice,minStay,weekday,minNights,pct
sea-view,season,Summer,2027-06-01,2027-09-01,18000,3,,,
sea-view,weekday,,,,,,5,,12.5
sea-view,length_of_stay,,,,,,,7,10
`
const RESTRICTIONS = `unit,rule,value,from,to,weekdays
sea-view,closedToArrival,true,2027-07-01,2027-09-01,1 2 3 4 5 7
sea-view,minStayThrough,7,2027-12-28,,
sea-view,advanceNoticeHours,24,,,
`
const GUESTS = `id,firstName,lastName,email,phone,nationality
g1,Ana,"Reis ""da"" Silva",ana@example.com,,PT
g2,Bo,'=HYPERLINK(1),,+351 1,
g3,Unused,Guest,unused@example.com,,
`
const BOOKINGS = `id,unit,arrival,departure,type,status,source,sourceRef,adults,children,guest,notes
1,sea-view,2090-06-01,2090-06-04,guest,confirmed,airbnb,HM1,2,1,g1,"two
lines"
2,sea-view,2090-06-10,2090-06-12,guest,confirmed,,,,,g2,
3,garden,2090-06-01,2090-06-08,maintenance,confirmed,,,,,,Painting
,garden,2090-07-01,2090-07-02,guest,cancelled,,,,,ana@example.com,
`

function writeCsv(): void {
  write('units.csv', `\uFEFF${UNITS}`)
  write('rates.csv', RATES)
  write('restrictions.csv', RESTRICTIONS)
  write('guests.csv', GUESTS.replaceAll('\n', '\r\n'))
  write('bookings.csv', BOOKINGS)
  write('fee-types.csv', 'label,kind,amount,pct\nCity tax,fixed,800,\n')
}

async function everything() {
  const all = async (path: string) => (await service.get(`/agencies/${slug}/${path}`)).body
  return [
    await all('units'),
    await all('units/sea-view/rates'),
    await all('fee-types'),
    await all('bookings'),
    await all('guests'),
    await all('units/sea-view/restrictions'),
  ]
}

describe('an import of CSV files', () => {
  test('takes a guest who has one name, as an export of them writes it', async () => {
    write('units.csv', 'slug,name,basePrice\ngarden,Garden,9000\n')
    write('guests.csv', 'id,firstName,lastName,email\ng1,Madonna,,\n')
    write('bookings.csv', 'id,unit,arrival,departure,guest\n1,garden,2090-08-01,2090-08-04,g1\n')
    expect((await cli('import', folder)).code).toBe(0)
    const out = join(folder, 'out')
    expect((await cli('export', out, '--agency', slug, '--format', 'csv')).code).toBe(0)
    const [, , , , guests] = await everything()
    expect(guests.guests[0]).toMatchObject({ firstName: 'Madonna', lastName: '', email: null })
    expect((await cli('import', out)).stdout).toContain('0 refused')
  })

  test('makes the agency and all of it; a second one changes nothing', async () => {
    writeCsv()
    const first = await cli('import', folder)
    expect(first.code).toBe(0)
    expect(first.stdout.split('\n')).toEqual([
      `${slug}: 10 created, 0 changed, 0 unchanged, 0 different, 0 refused`,
      ...['  units: 2 created, 0 changed', '  rates: 1 created, 0 changed', '  restrictions: 1 created, 0 changed'],
      ...['  fee-types: 1 created, 0 changed', '  bookings: 4 created, 0 changed', ''],
    ])
    expect(first.stderr).toBe('unused     guests.csv line 4  no booking names this guest\n')
    const [units, rates, , bookings, guests, restrictions] = await everything()
    expect(units.units[1]).toMatchObject({
      name: 'Sea View, upper floor',
      city: 'Lisbon',
      cleaningFee: 5_000,
      turnoverNights: 1,
      registrationNumber: '0048213',
    })
    expect(units.units[0]).toMatchObject({
      city: null,
      cleaningFee: 0,
      instantBook: false,
      registrationNumber: null,
    })
    expect(rates.rates.weekdayAdjustments).toEqual([{ weekday: 5, pct: 12.5 }])
    expect(restrictions).toEqual({
      restrictions: [
        { from: '2027-07-01', to: '2027-09-01', weekdays: [1, 2, 3, 4, 5, 7], rule: 'closedToArrival', value: true },
        { from: '2027-12-28', to: null, weekdays: null, rule: 'minStayThrough', value: 7 },
      ],
      advanceNoticeHours: 24,
      bookingWindowDays: null,
    })
    expect(bookings.totalItems).toBe(4)
    expect(bookings.bookings.find(({ sourceRef }: { sourceRef: string }) => sourceRef === 'HM1')).toMatchObject({
      notes: 'two\nlines',
      children: 1,
      source: 'airbnb',
      guest: { firstName: 'Ana', lastName: 'Reis "da" Silva', email: 'ana@example.com' },
    })
    expect(guests.guests.find(({ firstName }: { firstName: string }) => firstName === 'Bo')).toMatchObject({
      lastName: '=HYPERLINK(1)',
      phone: '+351 1',
    })
    expect(guests.totalItems).toBe(2)

    const before = await everything()
    const again = await cli('import', folder)
    expect(again.stdout).toBe(`${slug}: 0 created, 0 changed, 9 unchanged, 0 different, 0 refused\n`)
    expect(await everything()).toEqual(before)
  })

  test('changes units, rates and restrictions that differ, and reports bookings that differ without changing them', async () => {
    writeCsv()
    await cli('import', folder)
    write('units.csv', UNITS.replace('12000', '13000'))
    write('rates.csv', RATES.replace('18000', '19000'))
    write('restrictions.csv', RESTRICTIONS.replace('24', '48'))
    write('bookings.csv', BOOKINGS.replace('2090-06-04', '2090-06-05'))
    const run = await cli('import', folder)
    expect(run.code).toBe(0)
    expect(run.stdout).toStartWith(`${slug}: 0 created, 3 changed, 5 unchanged, 1 different, 0 refused`)
    expect(run.stderr).toMatch(
      /different {2}bookings\.csv line \d+ {2}bkg_\w+ already exists with a different departure; left as it is/,
    )
    const [units, rates] = await everything()
    expect(units.units[1].basePrice).toBe(13_000)
    expect(rates.rates.seasons[0].nightlyPrice).toBe(19_000)
  })

  test('refuses row by row, says where and why, takes the rest over, and tells by its exit code', async () => {
    writeCsv()
    write('units.csv', `${UNITS}bad slug,Bad,1,,,,,\ncheap,Cheap,much,,,,,\nsea-view,Twice,1,,,,,\n`)
    write('rates.csv', `${RATES}garden,party,,,,,,,,\nnowhere,weekday,,,,,,1,,5\n`)
    write('restrictions.csv', `${RESTRICTIONS},stopSell,true,,,\ngarden,stopSell,7,,,\n`)
    write(
      'bookings.csv',
      `${BOOKINGS}5,sea-view,2090-06-03,2090-06-05,guest,confirmed,,,,,,\n6,garden,2090-02-30,2090-03-02,guest,,,,,,,\n7,nowhere,2090-01-01,2090-01-02,guest,,,,,,,\n8,garden,2090-01-01,2090-01-02,guest,,,,,,g9,\n9,garden,2090-01-05,2090-01-06,guest,confirmed,airbnb,HM1,,,,\n`,
    )
    const run = await cli('import', folder)
    expect(run.code).toBe(3)
    const refused = run.stderr.split('\n').filter((line) => line.startsWith('refused'))
    expect(refused).toHaveLength(12)
    for (const [at, why] of [
      ['units.csv line 4', 'VALIDATION: slug must be'],
      ['units.csv line 5', 'VALIDATION: basePrice must be an integer'],
      ['units.csv line 6', 'has the same slug as units.csv line 2'],
      ['rates.csv line 5', 'has no unit, or a kind that is not'],
      ['rates.csv line 6', 'NOT_FOUND: No such unit'],
      ['restrictions.csv line 5', 'has no unit or no rule'],
      ['restrictions.csv line 6', 'VALIDATION: restrictions[0].value must be true or false'],
      ['bookings.csv line 7', 'overlaps with bookings.csv line 3'],
      ['bookings.csv line 8', 'VALIDATION: arrival must be a valid date'],
      ['bookings.csv line 9', 'NOT_FOUND: No such unit'],
      ['bookings.csv line 10', 'refers to the guest g9, who is not in the folder'],
      ['bookings.csv line 11', 'has the same source and sourceRef as bookings.csv line 3'],
    ] as const)
      expect([at, refused.some((line) => line.includes(`${at}  ${why}`))]).toEqual([at, true])
    expect((await everything())[3].totalItems).toBe(4)
  })

  test('as a dry run says what would be done, even of an agency that is not there, and does nothing', async () => {
    writeCsv()
    const run = await cli('import', folder, '--dry-run')
    expect(run.stdout).toStartWith(`${slug}: would be 10 created, 0 changed`)
    expect((await service.get(`/agencies/${slug}`)).status).toBe(404)
  })

  test('shows its progress in a terminal', async () => {
    writeCsv()
    const run = await cliOn(service, { isTty: true })('import', folder)
    expect(run.stderr).toContain('\r[##############################] 4/4 bookings\n')
  })
})

describe('an export', () => {
  test.each(['json', 'csv'])(
    'as %s is read back: by the same agency as nothing new, by a new one as the same',
    async (format) => {
      writeCsv()
      await cli('import', folder)
      const hold = {
        unit: 'garden',
        arrival: '2090-08-01',
        departure: '2090-08-03',
        status: 'option',
        holdHours: 2_000,
      }
      const { booking } = (await service.ask(`/agencies/${slug}/bookings`, hold)).body
      const out = join(folder, 'out')
      const run = await cli('export', out, '--agency', slug, '--format', format)
      expect(run.stdout).toContain('2 units, 1 feeTypes, 2 guests, 5 bookings')
      expect(statSync(join(out, `guests.${format}`)).mode & 0o777).toBe(0o600)

      if (format === 'csv')
        expect(readFileSync(join(out, 'guests.csv'), 'utf8')).toContain("Bo,'=HYPERLINK(1),,'+351 1,")
      const same = await cli('import', out)
      expect([same.code, same.stderr]).toEqual([0, ''])
      expect(same.stdout).toContain('0 created, 0 changed, 10 unchanged, 0 different, 0 refused')

      const copy = `copy-${format}`
      const copied = await cli('import', out, '--agency', copy)
      expect([copied.code, copied.stderr]).toEqual([0, ''])
      const again = await cli('import', out, '--agency', copy)
      expect(again.stdout).toContain('0 created, 0 changed, 10 unchanged, 0 different, 0 refused')

      const bookings = async (of: string) => {
        const { bookings } = (await service.get(`/agencies/${of}/bookings`)).body
        return bookings.map((each: Record<string, unknown>) => [
          ...[
            'unitSlug',
            'arrival',
            'departure',
            'type',
            'status',
            'adults',
            'notes',
            'totalAmount',
            'holdExpiresAt',
          ].map((name) => each[name]),
          (each['guest'] as { email: string } | null)?.email,
        ])
      }
      expect((await bookings(copy)).toSorted()).toEqual((await bookings(slug)).toSorted())
      expect(JSON.stringify(await bookings(copy))).toContain(booking.holdExpiresAt)
      const [units, rates, , , , restrictions] = await everything()
      const unitsOf = (answer: { units: Record<string, unknown>[] }) => answer.units.map(({ id: _, ...unit }) => unit)
      expect(unitsOf((await service.get(`/agencies/${copy}/units`)).body)).toEqual(unitsOf(units))
      expect((await service.get(`/agencies/${copy}/units/sea-view/rates`)).body).toEqual(rates)
      expect((await service.get(`/agencies/${copy}/units/sea-view/restrictions`)).body).toEqual(restrictions)
    },
  )

  test('takes the place of an earlier one in the folder: nobody is left in it who was erased since', async () => {
    writeCsv()
    await cli('import', folder)
    const out = join(folder, 'out')
    await cli('export', out, '--agency', slug, '--format', 'csv')
    const { guests } = (await service.get(`/agencies/${slug}/guests`)).body
    for (const { id } of guests)
      await service.ask(`/agencies/${slug}/guests/${id}/erase`, undefined, { method: 'POST' })
    await cli('export', out, '--agency', slug, '--format', 'csv')
    expect(readdirSync(out)).not.toContain('guests.csv')
    await cli('export', out, '--agency', slug)
    expect(readdirSync(out).filter((name) => name.endsWith('.csv'))).toEqual([])
    expect((await cli('import', out)).code).toBe(0)
  })

  test('with an archived unit, and a stay that was cancelled and booked again, is read back as a whole', async () => {
    writeCsv()
    write(
      'bookings.csv',
      `id,unit,arrival,departure,type,status,source,sourceRef
1,sea-view,2090-06-01,2090-06-04,guest,cancelled,airbnb,HM1
2,sea-view,2090-06-02,2090-06-05,guest,confirmed,airbnb,HM1
3,garden,2090-06-02,2090-06-05,guest,confirmed,airbnb,HM2
`,
    )
    const first = await cli('import', folder)
    expect([first.code, first.stdout]).toEqual([0, expect.stringContaining('bookings: 3 created')])
    await service.ask(`/agencies/${slug}/units/garden`, { status: 'archived' }, { method: 'PATCH' })
    const out = join(folder, 'out')
    await cli('export', out, '--agency', slug)

    const copy = `${slug}-copy`
    const copied = await cli('import', out, '--agency', copy)
    expect([copied.code, copied.stderr]).toEqual([0, ''])
    const { bookings } = (await service.get(`/agencies/${copy}/bookings`)).body
    expect(bookings.map(({ unitSlug, status }: Record<string, string>) => `${unitSlug} ${status}`).toSorted()).toEqual([
      'garden confirmed',
      'sea-view cancelled',
      'sea-view confirmed',
    ])
    expect((await service.get(`/agencies/${copy}/units/garden`)).body.unit.status).toBe('archived')
    for (const of of [slug, copy])
      expect((await cli('import', out, '--agency', of)).stdout).toContain(
        '0 created, 0 changed, 8 unchanged, 0 different, 0 refused',
      )
    // A second stay with the reference is none of these.
    const rows = JSON.parse(readFileSync(join(out, 'bookings.json'), 'utf8'))
    const other = { ...rows[0], id: 'other', arrival: '2090-07-01', departure: '2090-07-02', status: 'confirmed' }
    writeFileSync(
      join(out, 'bookings.json'),
      JSON.stringify([{ ...other, sourceRef: 'HM1', unit: 'sea-view' }, ...rows]),
    )
    expect((await cli('import', out, '--agency', copy)).stderr).toContain(
      'bookings.json [0]  has the same source and sourceRef as',
    )
  })

  test('refers to no guest and no unit that it does not have, whatever comes and goes while it is made', async () => {
    writeCsv()
    await cli('import', folder)
    const { guests } = (await service.get(`/agencies/${slug}/guests`)).body
    const ana = guests.find(({ email }: { email: string | null }) => email === 'ana@example.com')
    let [isChanged, isExtended] = [false, false]
    const statuses: number[] = []
    const ask = async (path: string, json?: unknown) => {
      statuses.push((await service.ask(`/agencies/${slug}/${path}`, json, { method: 'POST' })).status)
    }
    const extend = async () => {
      isExtended = true
      await ask('units', { slug: 'annex', name: 'Annex', basePrice: 9_000 })
      await ask('bookings', { unit: 'annex', arrival: '2090-12-01', departure: '2090-12-03' })
    }
    const change = async () => {
      isChanged = true
      const guest = { firstName: 'New', lastName: 'Guest', email: 'new@example.com' }
      const stay = { unit: 'garden', arrival: '2090-11-01', departure: '2090-11-03', guest }
      await ask('bookings', stay)
      await ask(`guests/${ana.id}/erase`)
    }
    const between = Bun.serve({
      port: 0,
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url)
        const answer = await fetch(`${service.url}${pathname}${search}`, { headers: request.headers })
        const body = await answer.text()
        if (!isExtended && /\/(units|bookings)$/.test(pathname)) await extend()
        if (!isChanged && /\/(guests|bookings)$/.test(pathname)) await change()
        return new Response(body, { status: answer.status })
      },
    })
    const out = join(folder, 'out')
    const exported = await cliOn({ url: `http://127.0.0.1:${between.port}` })('export', out, '--agency', slug)
    await between.stop(true)
    expect([exported.code, statuses]).toEqual([0, [201, 201, 201, 200]])
    const copied = await cli('import', out, '--agency', `${slug}-copy`)
    expect([copied.code, copied.stderr.replace(/^unused .*\n/gm, '')]).toEqual([0, ''])
    expect(JSON.stringify(await service.get(`/agencies/${slug}-copy/guests`))).not.toContain('ana@example.com')
  })

  test('of nothing is a folder that imports as nothing', async () => {
    await cli('import', folder)
    const out = join(folder, 'out')
    await cli('export', out, '--agency', slug, '--format', 'csv')
    expect(JSON.parse(readFileSync(join(out, 'agency.json'), 'utf8'))).toMatchObject({ slug, currency: 'EUR' })
    expect((await cli('import', out)).stdout).toContain('0 created')
  })
})

describe('a folder that cannot be read', () => {
  test.each([
    ['is not there', () => '/nowhere', /no such folder/],
    ['has nothing in it', () => mkdtempSync(join(root, 'empty-')), /none of agency\.json/],
  ])('%s', async (_, path, message) => {
    const run = await cli('import', path(), '--agency', slug)
    expect(run.code).toBe(1)
    expect(run.stderr).toMatch(message)
  })

  test('has a file that is not JSON, no array, broken CSV, or the same part twice', async () => {
    for (const [name, text, message] of [
      ['units.json', '{', /units\.json: it is not valid JSON/],
      ['units.json', '{}', /not a JSON array/],
      ['bookings.csv', 'unit,arrival\n"x', /bookings\.csv/],
    ] as const) {
      write(name, text)
      const run = await cli('import', folder)
      expect([run.code, message.test(run.stderr)]).toEqual([1, true])
      rmSync(join(folder, name))
    }
    writeCsv()
    write('units.json', '[]')
    expect((await cli('import', folder)).stderr).toContain('both units.json and units.csv')
    expect((await service.get(`/agencies/${slug}`)).status).toBe(404)
  })
})
