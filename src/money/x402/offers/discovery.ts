const INPUT = {
  type: 'object',
  properties: {
    type: { type: 'string', const: 'http' },
    method: { type: 'string', enum: ['GET', 'HEAD', 'DELETE'] },
    queryParams: {
      type: 'object',
      properties: {
        usd: { type: 'string', description: 'Dollars to pay, such as "0.1"' },
        key: { type: 'string', description: 'publicId of the key to credit' },
      },
    },
  },
  required: ['type', 'method'],
  additionalProperties: false,
} as const

const OUTPUT = {
  type: 'object',
  properties: { type: { type: 'string' }, example: { type: 'object' } },
  required: ['type'],
} as const

export const TOPUP_PATH = '/api/sessions/topup'

/**
 * The x402 extension by which directories learn how to call a resource (Bazaar). Only the top-up has it: unpaid, it always answers 402, which their probes expect.
 */
export const DISCOVERY = {
  bazaar: {
    info: {
      input: { type: 'http', method: 'GET', queryParams: { usd: '0.1' } },
      output: { type: 'json', example: { prepaidBalanceUsd: 0.1 } },
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { input: INPUT, output: OUTPUT },
      required: ['input'],
    },
  },
} as const
