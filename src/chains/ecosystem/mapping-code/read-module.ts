import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { basename } from 'node:path'
import process from 'node:process'
import { Script } from 'node:vm'

/** A mapping's module, checked but not run. */
export interface CodeModule {
  /** The name alone, such as `payouts.ts`. */
  readonly file: string
  /** SHA-256 of the file's bytes, in hex. */
  readonly digest: string
  /** JavaScript without `export`; lines are those of the file. */
  readonly source: string
  readonly functions: readonly string[]
}

/** The module is refused; the message says where and why. */
export class ModuleError extends Error {
  override readonly name = 'ModuleError'
}

const SELF_CONTAINED = 'the module must be self-contained: only "import type" is allowed'

/** Throws ModuleError with file and line. */
export function readModule(path: string): CodeModule {
  const file = basename(path)
  const bytes = readBytes(path)
  const text = stripTypes(file, bytes.toString('utf8'))
  // Spaces, where it is code and in texts: what is left can be compiled.
  const bare = text.replaceAll(EXPORT, (word) => ' '.repeat(word.length))
  compile(file, bare)
  const refuse = (index: number, why: string): never => {
    throw new ModuleError(`${file}:${text.slice(0, index).split('\n').length}: ${why}`)
  }
  for (const [word, why] of FORBIDDEN)
    for (const { index } of bare.matchAll(word)) if (isCode(bare, index)) refuse(index, why)
  const functions: string[] = []
  let source = text
  for (const { index, 0: word } of text.matchAll(EXPORT)) {
    if (!isCode(bare, index)) continue
    const [, name] = EXPORTED.exec(text.slice(index)) ?? []
    if (name === undefined) refuse(index, 'only "export function name(event)" can be exported')
    else functions.push(name)
    source = source.slice(0, index) + ' '.repeat(word.length) + source.slice(index + word.length)
  }
  const digest = createHash('sha256').update(bytes).digest('hex')
  return { file, digest, source, functions }
}

const EXPORT = /\bexport\b(?:\s+default\b)?/g
const EXPORTED = /^export\s+(?:function|const)\s+([A-Za-z_$][\w$]*)/

/** Promises are more than a vm context can hold back: one that is rejected ends the process. */
const FORBIDDEN = [
  [/\bimport\b/g, SELF_CONTAINED],
  [/\basync\b/g, 'functions of a mapping are synchronous'],
] as const

/** Whether what stands there is code: a text, comment or pattern may hold a sign that is no JavaScript. */
function isCode(source: string, index: number): boolean {
  try {
    new Script(`'use strict';${source.slice(0, index)}\u00a7${source.slice(index + 1)}`)
    return false
  } catch {
    return true
  }
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new ModuleError(`cannot be read: ${messageOf(error)}`)
  }
}

/** Node warns that the function is new; the CLI's output is not the place to say so. */
function stripTypes(file: string, text: string): string {
  const { emitWarning } = process
  process.emitWarning = () => undefined
  try {
    return stripTypeScriptTypes(text, { mode: 'strip' })
  } catch (error) {
    throw new ModuleError(`${placeOf(file, error)}: ${messageOf(error)}`)
  } finally {
    process.emitWarning = emitWarning
  }
}

/** Compiled alone first, so that nothing can close the function that it is wrapped into. */
function compile(file: string, source: string): void {
  try {
    new Script(`'use strict';${source}`, { filename: file })
  } catch (error) {
    const message = messageOf(error)
    const why = /\bimport\b/.test(message) ? SELF_CONTAINED : message
    throw new ModuleError(`${placeOf(file, error)}: ${why}`)
  }
}

/** A syntax error's stack begins with its line. */
function placeOf(file: string, error: unknown): string {
  const line = error instanceof Error ? /^[^\n]*:(\d+)\n/.exec(error.stack ?? '')?.[1] : undefined
  return line === undefined ? file : `${file}:${line}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
