/** What of a JSON schema the types are written from. */
export interface Schema {
  readonly description?: string
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[] | undefined
  readonly additionalProperties?: Schema | boolean
  readonly allOf?: readonly Schema[]
  readonly $ref?: string
}

/** The TypeScript type of what a schema accepts, with its descriptions as comments. */
export function typeOfSchema(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(' | ')
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOfSchema).join(' | ')
  if (schema.allOf !== undefined) return schema.allOf.map(typeOfSchema).join(' & ')
  if (schema.items !== undefined) return `readonly (${typeOfSchema(schema.items)})[]`
  if (schema.properties !== undefined) return objectType(schema)
  const values = schema.additionalProperties
  if (typeof values === 'object') return `Readonly<Record<string, ${typeOfSchema(values)}>>`
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  if (schema.type === 'string' || schema.type === 'boolean' || schema.type === 'null')
    return schema.type
  throw new Error(`no type for the schema ${JSON.stringify(schema)}`)
}

function objectType({ properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const comment = field.description === undefined ? '' : `/** ${field.description} */\n`
    return `${comment}readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOfSchema(field)}\n`
  })
  return `{\n${fields.join('')}}`
}
