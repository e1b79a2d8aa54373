import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { dirname, extname, resolve } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import type { TSchema } from 'typebox'
import type { TLocalizedValidationError as ShapeError } from 'typebox/error'
import { Check, Errors } from 'typebox/schema'
import { Pointer } from 'typebox/value'
import { isObject } from '#base/json.ts'
import { moduleFile } from '#base/package-root.ts'
import { eventKinds } from '#data/kinds.ts'
import type { Ecosystem } from './ecosystem.ts'
import { type EcosystemFile, ecosystemFile } from './ecosystem-file.ts'
import { EcosystemError, Problems } from './problem.ts'
import { resolveEcosystem, type Shaped } from './resolve-ecosystem.ts'

/** Reads `.json`, or a module with a default export; throws EcosystemError. */
export async function loadEcosystem(path: string): Promise<Ecosystem> {
  return parseEcosystem(path, await loadEcosystemFile(path))
}

/**
 * Content of the file with its variables filled in, otherwise unchecked; throws EcosystemError if
 * unreadable or if a variable is not set.
 */
export async function loadEcosystemFile(path: string, environment = process.env): Promise<unknown> {
  if (!existsSync(path)) fail(path, ` does not exist; ${ABSENT}`)
  const content = extname(path) === '.json' ? await readJson(path) : await readModule(path)
  const problems = new Problems()
  const filled = fillIn(content, environment, problems)
  if (problems.list.length > 0) throw new EcosystemError(path, problems.list)
  return withModulePaths(filled, dirname(resolve(path)))
}

const ABSENT = 'name yours with --ecosystem, write one with "sexton init", or run "sexton start"'

const NAME = /\$\{([^}]*)\}/g

/**
 * Replaces `${NAME}` in string values by variables of the environment; reports each that is not
 * set, and names none of the values. The copy has own enumerable members only, as another thread
 * receives them: a module may export proxies, or instances of classes.
 */
export function fillIn(
  value: unknown,
  environment: NodeJS.ProcessEnv,
  problems: Problems,
  field = '',
): unknown {
  if (typeof value === 'string')
    return value.replace(NAME, (whole, name: string) => {
      const found = Object.hasOwn(environment, name) ? environment[name] : undefined
      if (found === undefined || found === '')
        problems.add(
          field || 'file',
          `names the variable ${whole}, which is not set; set ${name}, or write the value`,
        )
      return found ?? whole
    })
  if (Array.isArray(value))
    return value.map((each, index) => fillIn(each, environment, problems, `${field}[${index}]`))
  if (typeof value !== 'object' || value === null) return value
  const inside = (name: string) => (field === '' ? name : `${field}.${name}`)
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      fillIn(each, environment, problems, inside(name)),
    ]),
  )
}

/** Modules of mappings stand beside the file, and every thread loads them from there. */
function withModulePaths(file: unknown, folder: string): unknown {
  if (!isObject(file)) return file
  const place = (entry: unknown) =>
    isObject(entry) && typeof entry.rows === 'string'
      ? { ...entry, rows: entry.rows.replace(/^\.(?=\/)/, () => folder) }
      : entry
  const lists = eventKinds.flatMap(({ part }) => {
    const list = file[part]
    return Array.isArray(list) ? [[part, list.map(place)]] : []
  })
  return { ...file, ...Object.fromEntries(lists) }
}

/** `name` prefixes each line of the error. */
export function parseEcosystem(name: string, value: unknown): Ecosystem {
  const problems = new Problems()
  const shaped = checkShape(value, problems)
  const ecosystem = shaped && resolveEcosystem(shaped, problems)
  if (ecosystem === undefined) throw new EcosystemError(name, problems.list)
  return ecosystem
}

async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8')
  try {
    return JSON.parse(text)
  } catch (error) {
    return fail(path, `${placeIn(text)} is not valid JSON: ${describeReason(error)}`)
  }
}

/** JSON.parse does not say where: the same mistake in JavaScript does. */
function placeIn(json: string): string {
  try {
    new Script(`(\n${json}\n)`, { lineOffset: -1 })
    return ''
  } catch (error) {
    return locateError(error)
  }
}

/** `:line:column` from the stack: the source above a syntax error, or a frame in the file. */
function locateError(error: unknown, href?: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const syntax = /^.*:(\d+)\n(?:.*\n)+?( *)\^/.exec(stack)
  if (syntax !== null) return `:${syntax[1]}:${(syntax[2]?.length ?? 0) + 1}`
  const frame = href === undefined ? undefined : stack.split(href)[1]
  return /^:\d+:\d+/.exec(frame ?? '')?.[0] ?? ''
}

function describeReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function readModule(path: string): Promise<unknown> {
  const { href } = pathToFileURL(resolve(path))
  const hooks = registerResolution(href)
  try {
    const module = await import(href)
    if ('default' in module) return module.default
  } catch (error) {
    return fail(path, `${locateError(error, href)} cannot be loaded: ${describeReason(error)}`)
  } finally {
    hooks.deregister()
  }
  return fail(path, ' exports nothing to read; write "export default defineEcosystem({ ... })"')
}

/**
 * `import { defineEcosystem } from 'sexton'` means this package, installed beside the file or not.
 * The file is a module, also where the package.json beside it does not say so.
 */
function registerResolution(file: string) {
  const { href } = moduleFile('ecosystem/define-ecosystem')
  return registerHooks({
    resolve(specifier, context, next) {
      if (specifier === 'sexton') return { url: href, shortCircuit: true }
      const found = next(specifier, context)
      // JavaScript is read as TypeScript too, whose parser says where a mistake is.
      return specifier === file ? { ...found, format: 'module-typescript' } : found
    },
  })
}

function fail(path: string, reason: string): never {
  throw new EcosystemError(path, [{ field: 'file', message: path + reason }])
}

/**
 * Checks each part and list entry separately, so that one mistake never hides another. Returns
 * undefined if nothing can be checked further.
 */
export function checkShape(value: unknown, problems: Problems): Shaped | undefined {
  if (Check(ecosystemFile, value)) return { file: value, left: {} }
  const parts = Object.entries<TSchema>(ecosystemFile.properties)
  const members = { properties: Object.fromEntries(parts.map(([name]) => [name, {}])) }
  note(problems, { schema: { ...ecosystemFile, ...members }, value, at: '' })
  if (!isObject(value)) return undefined
  const kept: Record<string, unknown> = {}
  const places: Record<string, readonly number[]> = {}
  const left: Record<string, readonly unknown[]> = {}
  for (const [name, schema] of parts) {
    const part = value[name]
    const items = Array.isArray(part) && 'items' in schema ? (schema.items as TSchema) : undefined
    const at = `/${name}`
    if (items === undefined) {
      const isRight = part !== undefined && note(problems, { schema, value: part, at })
      if (isRight) kept[name] = part
      else if (part !== undefined || REQUIRED.includes(name)) left[name] = [part]
      continue
    }
    note(problems, { schema: { ...schema, items: {} }, value: part, at })
    const entries: readonly unknown[] = [part].flat()
    const areRight = entries.map((entry, index) =>
      note(problems, { schema: items, value: entry, at: `${at}/${index}` }),
    )
    kept[name] = entries.filter((_, index) => areRight[index])
    left[name] = entries.filter((_, index) => !areRight[index])
    places[name] = [...entries.keys()].filter((index) => areRight[index])
  }
  problems.places = places
  // An invalid file is only checked for further mistakes, never used.
  return { file: { ...EMPTY, ...kept } as EcosystemFile, left }
}

const REQUIRED: readonly string[] = ecosystemFile.required

const EMPTY = {
  service: { name: 'x', keyPrefix: 'svc', publicBaseUrl: 'http://localhost' },
  chains: [],
  tokens: [],
}

interface Unit {
  readonly schema: TSchema
  readonly value: unknown
  readonly at: string
}

function note(problems: Problems, unit: Unit): boolean {
  const [isRight, errors] = Errors(unit.schema, unit.value)
  const seen = new Set<string>()
  for (const error of errors.filter((each) => isReported(each, errors)))
    for (const [field, message] of describe(error, unit)) {
      if (!seen.has(field)) problems.add(field, message)
      seen.add(field)
    }
  return isRight
}

/** A union reports errors deeper inside, else one error that no choice fits. */
function isReported(error: ShapeError, errors: readonly ShapeError[]): boolean {
  if (error.keyword === 'boolean') return false
  const isDeeper = (each: ShapeError) =>
    each.keyword !== 'boolean' && each.instancePath.startsWith(`${error.instancePath}/`)
  if (error.keyword === 'anyOf') return !errors.some(isDeeper)
  const ofChoice = errors.filter((each) => each.keyword === 'anyOf')
  const hides = ({ schemaPath, instancePath }: ShapeError) =>
    error.schemaPath.startsWith(`${schemaPath}/anyOf/`) && error.instancePath === instancePath
  const isOfMembers = error.keyword === 'required' || error.keyword === 'additionalProperties'
  return isOfMembers || !ofChoice.some(hides)
}

function describe(error: ShapeError, { schema, value, at }: Unit): readonly [string, string][] {
  const { keyword, schemaPath, instancePath } = error
  const field = toField(at + instancePath)
  const inside = (names: readonly string[], message: string) =>
    names.map((name): [string, string] => [field === 'file' ? name : `${field}.${name}`, message])
  if (keyword === 'required') return inside(error.params.requiredProperties, 'is missing')
  if (keyword === 'additionalProperties')
    return inside(
      error.params.additionalProperties,
      'is not a known field; remove it or check its spelling',
    )
  const failed = Pointer.Get(schema, schemaPath.replace(/^#/, ''))
  const isDescribed = keyword === 'pattern' || keyword === 'anyOf'
  const wanted =
    keyword === 'enum'
      ? `must be one of ${error.params.allowedValues.join(', ')}`
      : isDescribed && isObject(failed) && failed.description !== undefined
        ? `must be ${failed.description}`
        : error.message
  const text = JSON.stringify(Pointer.Get(value, instancePath)) ?? 'nothing'
  return [[field, `${wanted}, found ${text.length > 60 ? `${text.slice(0, 57)}...` : text}`]]
}

/** Writes `/chains/0/rpcUrls` as `chains[0].rpcUrls`. */
function toField(pointer: string): string {
  const names = pointer.split('/').slice(1)
  const parts = names.map((name) => (/^[0-9]+$/.test(name) ? `[${name}]` : `.${name}`))
  return parts.join('').replace(/^\./, '') || 'file'
}
