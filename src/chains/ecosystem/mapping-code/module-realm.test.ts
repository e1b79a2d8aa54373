import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CodeStallError, ModuleRealm } from './module-realm.ts'

const log = {
  args: { amount: 5n },
  ...{ blockNumber: 1, timestamp: 2, blockHash: '0x01', txHash: '0x02', address: '0x03' },
  logIndex: 4,
}

/** What the body of `rows` makes of two equal logs, or of others. */
function run(body: string, logs = [log, log]) {
  const module = {
    file: 'rows.js',
    digest: '',
    source: `function rows(event) { ${body} }`,
    functions: ['rows'],
  }
  const spec = { names: ['amount'], members: ['amount', 'graveId'] }
  return new ModuleRealm(module, spec).run(logs)
}

const SHARED = {
  'the function that runs the module': 'globalThis.runMapping',
  'the prototype of the global object': 'Object.getPrototypeOf(globalThis)',
  'the error of `using`':
    '(() => { try { using a = { [Symbol.dispose]() { throw 1 } }; throw 2 } catch (error) { return error.constructor } })()',
  'a promise': 'Object.getPrototypeOf((async () => 1)())',
  'the iterators': 'Object.getPrototypeOf(Iterator.concat([1]))',
  'the literal of a tag': '((text) => text)`a`',
  'the prototype of the event': 'Object.getPrototypeOf(event)',
}

for (const [what, shared] of Object.entries(SHARED))
  test(`${what} keeps nothing for the next log`, () => {
    const outcomes = run(`(${shared}).kept = 1n; return []`)
    for (const outcome of outcomes) assert.match(String(outcome), /object is not extensible/)
  })

const NONSENSE = {
  'a list whose length changes': [
    "return new Proxy([], { get: (_, name) => name === 'length' ? { valueOf: () => NaN } : {} })",
    /at most 4096/,
  ],
  'an integer of millions of digits': [
    'return [{ amount: 1n << 100000000n }]',
    /amount does not fit into 256 bits/,
  ],
  'a text without end': [
    "return [{ amount: 1n, graveId: 'a'.repeat(2 ** 28) }]",
    /graveId has more than 1000 characters/,
  ],
  'an approximation': ['return [{ amount: BigInt(Math.pow(2, 0.5)) }]', /pow is not a function/],
} as const

for (const [what, [body, reason]] of Object.entries(NONSENSE))
  test(`${what} is wrong with its log`, () => {
    for (const outcome of run(body)) assert.match(String(outcome), reason)
  })

test('a thrown text is cut', () => {
  assert.deepEqual(
    run("throw 'a'.repeat(2 ** 20)").map(({ length }) => length),
    [300, 300],
  )
})

for (const [what, body] of Object.entries({
  'a deep stack': '(function deeper() { deeper() })()',
  'a lack of memory': 'new ArrayBuffer(2 ** 45)',
}))
  test(`${what} stalls, since it depends on the machine`, () => {
    assert.throws(() => run(body), CodeStallError)
  })

test('a run ends before the log that takes too long, which stalls alone', () => {
  const endless = { ...log, args: { amount: 13n } }
  const body = 'while (event.args.amount === 13n) {} return []'
  assert.equal(run(body, [log, log, endless, log]).length, 2)
  assert.throws(() => run(body, [endless, log]), CodeStallError)
})
