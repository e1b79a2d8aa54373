import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { basename } from 'node:path'
import process from 'node:process'
import { Script } from 'node:vm'

/** A mapping's module, checked but not run. */
export interface CodeModule {
  /** Without folders, such as `payouts.ts`. */
  readonly file: string
  /** Of the file's bytes. */
  readonly digest: string
  /** JavaScript without `export`; lines are those of the file. */
  readonly source: string
  readonly functions: readonly string[]
}

/** Where and why a module is refused. */
export class ModuleError extends Error {
  override readonly name = 'ModuleError'
}

/** Throws ModuleError with file and line. */
export function readModule(path: string): CodeModule {
  const file = basename(path)
  const bytes = readBytes(path)
  const text = stripTypes(file, bytes.toString('utf8'))
  const code = blankTexts(text)
  const functions: string[] = []
  let source = text
  for (const { index } of code.matchAll(/\bexport\b/g)) {
    const [, name] =
      /^export\s+(?:function|const)\s+([A-Za-z_$][\w$]*)/.exec(code.slice(index)) ?? []
    if (name === undefined)
      throw refused({ file, code, index }, 'only "export function name(event)" can be exported')
    functions.push(name)
    source = `${source.slice(0, index)}      ${source.slice(index + 6)}`
  }
  for (const [word, why] of FORBIDDEN) {
    const found = new RegExp(`\\b${word}\\b`).exec(code)
    if (found !== null) throw refused({ file, code, index: found.index }, why)
  }
  compile(file, source)
  const digest = createHash('sha256').update(bytes).digest('hex')
  return { file, digest, source, functions }
}

const FORBIDDEN = [
  ['import', 'the module must be self-contained: only "import type" is allowed'],
  ['async', 'functions of a mapping are synchronous'],
  ['await', 'functions of a mapping are synchronous'],
] as const

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
    throw new ModuleError(`${placeOf(file, error)}: ${messageOf(error)}`)
  }
}

/** A syntax error's stack begins with its line. */
function placeOf(file: string, error: unknown): string {
  const line = error instanceof Error ? /^[^\n]*:(\d+)\n/.exec(error.stack ?? '')?.[1] : undefined
  return line === undefined ? file : `${file}:${line}`
}

const TEXTS =
  /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\$])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g

/** Comments and strings, which may hold any word, as spaces. */
function blankTexts(source: string): string {
  return source.replaceAll(TEXTS, (text) => text.replaceAll(/[^\n]/g, ' '))
}

function refused(
  { file, code, index }: { readonly file: string; readonly code: string; readonly index: number },
  why: string,
): ModuleError {
  const line = code.slice(0, index).split('\n').length
  return new ModuleError(`${file}:${line}: ${why}`)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
