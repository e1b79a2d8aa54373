import type { TSchema } from 'typebox'
import { Check, Errors } from 'typebox/schema'
import { Pointer } from 'typebox/value'
import { isObject } from '#base/json.ts'
import { type EcosystemFile, ecosystemFile } from './ecosystem-file.ts'
import type { Problems } from './problem.ts'

/** The file without its invalid entries, and these, by part. */
export interface Shaped {
  readonly file: EcosystemFile
  readonly left: Readonly<Record<string, readonly unknown[]>>
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

interface ShapeError {
  readonly keyword: string
  readonly schemaPath: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
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
  return MEMBERS.has(error.keyword) || !ofChoice.some(hides)
}

const MEMBERS = new Set(['required', 'additionalProperties'])

function describe(error: ShapeError, { schema, value, at }: Unit): readonly [string, string][] {
  const { keyword, schemaPath, instancePath } = error
  const field = toField(at + instancePath)
  const params = error.params as Readonly<Record<string, unknown>>
  const inside = (names: unknown, message: string) =>
    [names]
      .flat()
      .map((name): [string, string] => [
        field === 'file' ? String(name) : `${field}.${name}`,
        message,
      ])
  if (keyword === 'required') return inside(params.requiredProperties, 'is missing')
  if (keyword === 'additionalProperties')
    return inside(
      params.additionalProperties,
      'is not a known field; remove it or check its spelling',
    )
  const failed = Pointer.Get(schema, schemaPath.replace(/^#/, ''))
  const isDescribed = keyword === 'pattern' || keyword === 'anyOf'
  const wanted =
    keyword === 'enum'
      ? `must be one of ${[params.allowedValues].flat().join(', ')}`
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
