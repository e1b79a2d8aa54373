import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { batchLoader } from './batch-loader.ts'

it('what is asked for in one turn is loaded once and together, and each gets its own', async () => {
  const loads: (readonly string[])[] = []
  const get = batchLoader(async (keys) => {
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
  const get = batchLoader(async (keys) => {
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
  const get = batchLoader(async (keys) => {
    sizes.push(keys.length)
    return new Map(keys.map((each) => [each, each]))
  })
  const keys = Array.from({ length: 600 }, (_, index) => String(index))
  assert.deepEqual(await Promise.all(keys.map(get)), keys)
  assert.deepEqual(sizes, [256, 256, 88])
})

it('who asks while a load is under way is loaded anew, and is not given what it saw', async () => {
  const { promise: first, resolve: endFirst } = Promise.withResolvers<void>()
  let loads = 0
  const get = batchLoader(async (keys) => {
    loads += 1
    const load = loads
    if (load === 1) await first
    return new Map(keys.map((each) => [each, load]))
  })
  const early = get('a')
  await setImmediate()
  assert.equal(await get('a'), 2)
  endFirst()
  assert.equal(await early, 1)
})
