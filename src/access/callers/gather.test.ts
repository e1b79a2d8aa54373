import assert from 'node:assert/strict'
import { it } from 'node:test'
import { gather, padded } from './gather.ts'

it('what is asked for in one turn is loaded once and together, and each gets its own', async () => {
  const loads: (readonly string[])[] = []
  const get = gather(async (keys) => {
    loads.push(keys)
    return new Map(keys.filter((each) => each !== 'none').map((each) => [each, `${each}!`]))
  })
  assert.deepEqual(await Promise.all(['a', 'b', 'a', 'none'].map(get)), [
    'a!',
    'b!',
    'a!',
    undefined,
  ])
  assert.equal(await get('a'), 'a!')
  assert.deepEqual(loads, [['a', 'b', 'none'], ['a']])
})

it('a load that fails fails for those who asked for it, and for nobody later', async () => {
  let isBroken = true
  const get = gather(async (keys) => {
    if (isBroken) throw new Error('broken')
    return new Map(keys.map((each) => [each, each]))
  })
  const asked = ['a', 'b'].map((each) => assert.rejects(get(each), /broken/))
  await Promise.all(asked)
  isBroken = false
  assert.equal(await get('a'), 'a')
})

it('more than one statement carries are loaded by several', async () => {
  const sizes: number[] = []
  const get = gather(async (keys) => {
    sizes.push(keys.length)
    return new Map(keys.map((each) => [each, each]))
  })
  const keys = Array.from({ length: 600 }, (_, index) => String(index))
  assert.deepEqual(await Promise.all(keys.map(get)), keys)
  assert.deepEqual(sizes, [256, 256, 88])
})

it('keys are padded to a power of two with the last of them', () => {
  assert.deepEqual(padded([]), [])
  assert.deepEqual(padded(['a', 'b', 'c']), ['a', 'b', 'c', 'c'])
  assert.deepEqual(padded(['a', 'b']), ['a', 'b'])
})
