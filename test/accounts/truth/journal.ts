import { closeSync, createReadStream, openSync, writeSync } from 'node:fs'
import { callKinds, type Entry, sources } from './entry.ts'

/** Writes entries to a file, 40 bytes each, so that millions of calls need no memory. */
export interface Journal {
  add(entry: Entry): void
  /** Entries so far. */
  readonly length: number
  close(): void
}

const ENTRY_BYTES = 40
const ENTRIES_AT_ONCE = 4_096
const types = ['sent', 'answered', 'lost', 'funded', 'ending', 'ended'] as const

/** A number that no header, caller or successor has. */
const MISSING = 0xffff_ffff

/** Opens a new file. */
export function openJournal(file: string): Journal {
  const handle = openSync(file, 'w')
  const buffer = Buffer.alloc(ENTRY_BYTES * ENTRIES_AT_ONCE)
  let used = 0
  let length = 0
  const flush = () => {
    writeSync(handle, buffer, 0, used)
    used = 0
  }
  return {
    get length() {
      return length
    },
    add(entry) {
      write(buffer, used, entry)
      used += ENTRY_BYTES
      length += 1
      if (used === buffer.length) flush()
    },
    close() {
      flush()
      closeSync(handle)
    },
  }
}

/** Reads what a journal wrote, in order. */
export async function* readJournal(file: string): AsyncIterable<Entry> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(file, {
    highWaterMark: ENTRY_BYTES * ENTRIES_AT_ONCE,
  })) {
    const bytes: Buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const whole = bytes.length - (bytes.length % ENTRY_BYTES)
    for (let at = 0; at < whole; at += ENTRY_BYTES) yield read(bytes, at)
    rest = bytes.subarray(whole)
  }
}

function write(buffer: Buffer, at: number, entry: Entry): void {
  buffer.writeUInt8(types.indexOf(entry.type), at)
  buffer.writeUInt32LE(entry.caller, at + 4)
  buffer.writeDoubleLE(entry.atMs, at + 32)
  if ('kind' in entry) {
    buffer.writeUInt8(callKinds.indexOf(entry.kind), at + 1)
    buffer.writeUInt32LE(entry.call, at + 8)
  }
  if (entry.type === 'funded') buffer.writeUInt32LE(entry.microUsd, at + 12)
  if (entry.type === 'ended') buffer.writeUInt32LE(entry.successor ?? MISSING, at + 12)
  if (entry.type !== 'answered') return
  buffer.writeUInt16LE(entry.status, at + 2)
  buffer.writeUInt32LE(orMissing(entry.limit), at + 12)
  buffer.writeUInt32LE(orMissing(entry.remaining), at + 16)
  buffer.writeUInt32LE(orMissing(entry.resetUnix), at + 20)
  buffer.writeUInt32LE(Math.round(entry.atMs - entry.sentMs), at + 24)
  buffer.writeUInt8(sources.indexOf(entry.source), at + 28)
}

function orMissing(header: number): number {
  return Number.isInteger(header) && header >= 0 && header < MISSING ? header : MISSING
}

function read(buffer: Buffer, at: number): Entry {
  const type = types[buffer.readUInt8(at)]
  const caller = buffer.readUInt32LE(at + 4)
  const atMs = buffer.readDoubleLE(at + 32)
  const fourth = buffer.readUInt32LE(at + 12)
  if (type === undefined) throw new Error(`no entry of a journal: type ${buffer.readUInt8(at)}`)
  if (type === 'ending') return { type, caller, atMs }
  if (type === 'funded') return { type, caller, microUsd: fourth, atMs }
  if (type === 'ended')
    return { type, caller, successor: fourth === MISSING ? undefined : fourth, atMs }
  const kind = callKinds[buffer.readUInt8(at + 1)] ?? 'data'
  const call = buffer.readUInt32LE(at + 8)
  if (type !== 'answered') return { type, call, caller, kind, atMs }
  return {
    type,
    call,
    caller,
    kind,
    atMs,
    status: buffer.readUInt16LE(at + 2),
    source: sources[buffer.readUInt8(at + 28)] ?? 'none',
    limit: header(fourth),
    remaining: header(buffer.readUInt32LE(at + 16)),
    resetUnix: header(buffer.readUInt32LE(at + 20)),
    sentMs: atMs - buffer.readUInt32LE(at + 24),
  }
}

function header(stored: number): number {
  return stored === MISSING ? Number.NaN : stored
}
