import { expect, test } from 'bun:test'
import { Problem } from '../../src/page/api/problem.ts'
import { Resource, resources } from '../../src/page/data/resources.ts'

const settled = () => Bun.sleep(0)

test('of two reads, the later one is shown, whichever comes first', async () => {
  const resource = new Resource<string>()
  const answers: ((text: string) => void)[] = []
  const stop = resource.watch(() => new Promise<string>((resolve) => answers.push(resolve)))
  void resource.refresh()
  answers[1]?.('later')
  answers[0]?.('earlier')
  await settled()
  expect(resource.value).toEqual({ data: 'later', error: null, isLoading: false })
  stop()
})

test('a read is not given up for changes by others, and what they changed is read after it, once', async () => {
  const resource = resources.of<string>('bookings?search=Liskov')
  const answers: ((text: string) => void)[] = []
  const stop = resource.watch(() => new Promise<string>((resolve) => answers.push(resolve)))
  resources.follow('bookings')
  resources.follow('bookings')
  answers[0]?.('before')
  await settled()
  expect(resource.value).toEqual({ data: 'before', error: null, isLoading: true })
  answers[1]?.('after')
  await settled()
  expect(resource.value).toEqual({ data: 'after', error: null, isLoading: false })
  expect(answers.length).toBe(2)
  resources.follow('bookings')
  expect(answers.length).toBe(3)
  stop()
  resources.clear()
})

test('a read from before a change of one’s own is not shown after it, also if others have changed something', async () => {
  const resource = resources.of<string>('bookings')
  const answers: ((text: string) => void)[] = []
  const stop = resource.watch(() => new Promise<string>((resolve) => answers.push(resolve)))
  resources.follow('bookings')
  resources.invalidate('bookings')
  answers[0]?.('before')
  await settled()
  expect(resource.value.data).toBeUndefined()
  answers[1]?.('after')
  await settled()
  expect(resource.value).toEqual({ data: 'after', error: null, isLoading: false })
  stop()
  resources.clear()
})

test('a read from before what was changed on the screen does not take it back', async () => {
  const resource = new Resource<string>()
  const answers: ((text: string) => void)[] = []
  const watch = () => resource.watch(() => new Promise<string>((resolve) => answers.push(resolve)))
  const stop = watch()
  answers[0]?.('old')
  await settled()
  void resource.refresh()
  resource.change(() => 'new')
  answers[1]?.('old')
  await settled()
  expect(resource.value.data).toBe('new')
  answers[2]?.('new, and more')
  await settled()
  expect(resource.value).toEqual({ data: 'new, and more', error: null, isLoading: false })

  // Nobody looks at it any more when the answer comes.
  void resource.refresh()
  stop()
  resource.change(() => 'newest')
  answers[3]?.('old')
  await settled()
  expect(resource.value.data).toBe('newest')
})

test('a failed read is reported beside what was read before', async () => {
  const resource = new Resource<string>()
  let fails = false
  const refusal = new Problem(503, { code: 'NOT_SERVING', title: 'Starting' })
  resource.watch(() => (fails ? Promise.reject(refusal) : Promise.resolve('data')))
  await settled()
  fails = true
  await resource.refresh()
  expect(resource.value).toEqual({ data: 'data', error: refusal, isLoading: false })
})

test('what nobody watches is forgotten, and what is watched is read again', async () => {
  let reads = 0
  const watched = resources.of<number>('bookings?page=1')
  const stop = watched.watch(() => Promise.resolve(++reads))
  const left = resources.of<number>('bookings/bkg_1')
  const other = resources.of<number>('bookings-of-old')
  await settled()
  resources.invalidate('bookings')
  await settled()
  expect(watched.value.data).toBe(2)
  expect(resources.of<number>('bookings/bkg_1')).not.toBe(left)
  expect(resources.of<number>('bookings-of-old')).toBe(other)
  stop()
  resources.clear()
})
