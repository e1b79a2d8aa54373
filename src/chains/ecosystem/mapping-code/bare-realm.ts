/**
 * Scripts that run inside a context of `node:vm`, where the project's own modules do not exist. They
 * are text, so that no build step can add names of this realm to them.
 */

/**
 * Leaves the language without a clock, randomness, shared memory, promises or anything that depends
 * on the machine, and freezes the rest, so that a function can keep nothing for its next call.
 */
export const BARE_REALM = `'use strict';
(() => {
  const kept = new Set((
    'Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol RegExp ' +
    'Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError globalThis JSON ' +
    'Math ArrayBuffer Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array BigUint64Array ' +
    'BigInt64Array Uint8ClampedArray Float32Array Float64Array DataView Map BigInt Set Iterator WeakMap ' +
    'WeakSet Proxy Reflect decodeURI decodeURIComponent encodeURI encodeURIComponent isFinite isNaN'
  ).split(' '))
  // Other functions of Math are approximations, which may differ by machine.
  const exact = new Set('abs ceil clz32 floor fround f16round imul max min round sign sqrt sumPrecise trunc'.split(' '))
  for (const name of Reflect.ownKeys(Math)) if (typeof Math[name] === 'function' && !exact.has(name)) delete Math[name]
  delete Array.fromAsync
  delete Error.captureStackTrace
  Error.stackTraceLimit = 1
  for (const name of Reflect.ownKeys(RegExp))
    if (!['length', 'name', 'prototype', 'escape'].includes(name) && typeof name === 'string') delete RegExp[name]
  const seen = new Set()
  const freeze = (value) => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return
    seen.add(value)
    for (const name of Reflect.ownKeys(value))
      if (typeof name === 'string' && /Locale|^localeCompare$/.test(name)) delete value[name]
    Object.freeze(value)
    freeze(Object.getPrototypeOf(value))
    for (const name of Reflect.ownKeys(value)) {
      const member = Object.getOwnPropertyDescriptor(value, name)
      freeze(member.value)
      freeze(member.get)
      freeze(member.set)
    }
  }
  const unnamed = [
    function* () {}, [][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](),
    'a'.matchAll(/a/g), [].values().map((each) => each), Iterator.from({ next: () => ({ done: true }) }),
    globalThis,
  ]
  for (const each of unnamed) {
    // An own object has nothing to share, its prototypes do.
    freeze(Object.getPrototypeOf(each))
    freeze(each.prototype)
  }
  // Syntax can reach what has no name any more, such as the errors of \`using\`: all is frozen.
  for (const name of Reflect.ownKeys(globalThis)) {
    if (name !== 'globalThis') freeze(globalThis[name])
    if (!kept.has(name)) delete globalThis[name]
  }
})()`

/**
 * Defines \`runMapping\`, which turns the logs of \`box\` into outcomes: a text says what went wrong, a
 * list has the rows, each with the values of the members. Every log gets a module of its own. Objects
 * of the host never reach the module: it gets copies, and returns values that are checked for type.
 */
export const RUNNER = `'use strict';
((box, { make, file, names, members, rowsMax }) => {
  const { isArray } = Array
  const { keys } = Object
  const indexOf = new Map(members.map((name, index) => [name, index]))
  const INTEGERS_END = 2n ** 256n
  const TEXT_MAX = 1000
  // What the machine decides, not the log: how deep the stack is, and how much memory is free.
  const causedByMachine = ['Maximum call stack size exceeded', 'Array buffer allocation failed']
  const copy = (value) => {
    if (typeof value === 'number') return BigInt(value)
    if (typeof value !== 'object' || value === null) return value
    if (!isArray(value)) return copyNamed(value, keys(value))
    const list = []
    for (let index = 0; index < value.length; index += 1) list.push(copy(value[index]))
    return list
  }
  const copyNamed = (value, own) => {
    const copied = { __proto__: null }
    for (let index = 0; index < own.length; index += 1) copied[own[index]] = copy(value[own[index]])
    return copied
  }
  const eventOf = (log) => ({
    args: copyNamed(log.args, log.names ?? names),
    block: { number: log.blockNumber, time: log.timestamp, hash: log.blockHash },
    transactionHash: log.txHash,
    emitter: log.address,
    logIndex: log.logIndex,
  })
  const companionOf = (log) => ({ ...eventOf(log), name: log.name })
  const show = (value) => {
    const type = value === null ? 'null' : typeof value
    return type === 'number' ? 'a number; return a bigint, such as 1n' : type
  }
  const valueOf = (name, value) => {
    if (value === undefined || value === null) return undefined
    if (typeof value === 'bigint') {
      if (-INTEGERS_END < value && value < INTEGERS_END) return value
      throw new RangeError(name + ' does not fit into 256 bits')
    }
    if (typeof value === 'string') {
      if (value.length <= TEXT_MAX) return value
      throw new RangeError(name + ' has more than ' + TEXT_MAX + ' characters')
    }
    throw new TypeError(name + ' is of type ' + show(value))
  }
  const readRow = (row) => {
    if (typeof row !== 'object' || row === null) throw new TypeError('a row is of type ' + show(row))
    for (const name of keys(row))
      if (!indexOf.has(name)) throw new TypeError('a row has the unknown member ' + name + '; known: ' + members.join(', '))
    const values = []
    for (let index = 0; index < members.length; index += 1) values.push(valueOf(members[index], row[members[index]]))
    return values
  }
  const readRows = (functions, event) => {
    if (functions.keep !== undefined) {
      const kept = functions.keep(event)
      if (typeof kept !== 'boolean') throw new TypeError('keep() returned ' + show(kept) + ', not true or false')
      if (!kept) return []
    }
    if (functions.rows === undefined) {
      const values = []
      for (let index = 0; index < members.length; index += 1)
        values.push(valueOf(members[index] + '()', functions[members[index]](event)))
      return [values]
    }
    const list = functions.rows(event)
    if (!isArray(list)) throw new TypeError('rows() returned ' + show(list) + ', not a list')
    const length = +list.length
    if (!(length <= rowsMax)) throw new RangeError('rows() returned ' + length + ' rows; at most ' + rowsMax + ' are stored')
    const rows = []
    for (let index = 0; index < length; index += 1) rows.push(readRow(list[index]))
    return rows
  }
  const describe = (error) => {
    try {
      if (typeof error !== 'object' || error === null) return String(error).slice(0, 300)
      const stack = String(error.stack)
      const at = stack.indexOf(file + ':')
      const line = at < 0 ? '' : parseInt(stack.slice(at + file.length + 1), 10)
      const text = String(error.name) + ': ' + String(error.message)
      return (line === '' ? '' : 'line ' + line + ': ') + text.slice(0, 300)
    } catch {
      return 'threw something that has no text'
    }
  }
  let isRunning = false
  return Object.freeze(() => {
    if (isRunning) throw new TypeError('runMapping is not for mappings')
    isRunning = true
    const { logs, outcomes } = box
    for (let at = 0; at < logs.length; at += 1) {
      let outcome
      try {
        const event = eventOf(logs[at])
        const logsBeside = logs[at].logs
        if (logsBeside !== undefined) {
          event.logs = []
          for (let index = 0; index < logsBeside.length; index += 1) event.logs.push(companionOf(logsBeside[index]))
        }
        outcome = readRows(make(), event)
      } catch (error) {
        if (error instanceof RangeError && causedByMachine.includes(error.message)) throw error
        outcome = describe(error)
      }
      outcomes.push(outcome)
    }
    isRunning = false
  })
})`
