import { Check, Errors } from 'typebox/schema'
import { type EcosystemFile, ecosystemFile } from './ecosystem-file.ts'
import { type Problem, Problems } from './problem.ts'

/** Checks the shape alone: names, types, patterns, ranges. Of one file, so that nothing is compiled. */
export function checkShape(value: unknown): EcosystemFile | Problems {
  if (Check(ecosystemFile, value)) return value
  const [, errors] = Errors(ecosystemFile, value)
  const told = errors.filter((error) => error.keyword !== 'boolean').slice(0, TOLD_MAX)
  const problems = new Problems()
  for (const { field, message } of told.map((error) => describe(error, value)))
    problems.add(field, message)
  return problems
}

/** One wrong part can make many; the first is shown, and how many there are. */
const TOLD_MAX = 20

interface ShapeError {
  readonly keyword: string
  readonly schemaPath: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

function describe(error: ShapeError, root: unknown): Problem {
  const field = toField(error.instancePath)
  const params = error.params as Readonly<Record<string, unknown>>
  if (error.keyword === 'required')
    return { field: inside(field, first(params.requiredProperties)), message: 'is missing' }
  if (error.keyword === 'additionalProperties')
    return {
      field: inside(field, first(params.additionalProperties)),
      message: 'is not a known field; remove it or mend its spelling',
    }
  const wanted = error.keyword === 'pattern' ? descriptionAt(error.schemaPath) : undefined
  const problem = wanted === undefined ? error.message : `must be ${wanted}`
  return { field, message: `${problem}, found ${show(valueAt(root, error.instancePath))}` }
}

/** What a pattern means, in words. */
function descriptionAt(schemaPath: string): string | undefined {
  const schema = valueAt(ecosystemFile, schemaPath.replace(/^#/, ''))
  const described = typeof schema === 'object' && schema !== null && 'description' in schema
  return described ? String(schema.description) : undefined
}

function first(list: unknown): string {
  return Array.isArray(list) ? String(list[0]) : ''
}

function inside(parent: string, name: string): string {
  return parent === 'file' ? name : `${parent}.${name}`
}

/** `/chains/0/rpcUrls` as `chains[0].rpcUrls`. */
function toField(pointer: string): string {
  if (pointer === '') return 'file'
  return pointer
    .slice(1)
    .split('/')
    .map((part) => (/^[0-9]+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '')
}

function valueAt(root: unknown, pointer: string): unknown {
  let value = root
  for (const part of pointer.split('/').slice(1))
    value =
      typeof value === 'object' && value !== null
        ? (value as Readonly<Record<string, unknown>>)[part]
        : undefined
  return value
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}
