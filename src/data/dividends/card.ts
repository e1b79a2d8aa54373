import type { EventCard } from '#site/event-card.ts'

export const dividendCard: EventCard = {
  part: 'dividends',
  noun: 'claim',
  list: { operationId: 'listPayouts', path: '/api/dividends/recent' },
  charts: [
    {
      name: 'dividends',
      metric: 'dividends',
      title: 'Dividends a day',
      marks: 'bars',
      unit: 'usd',
      isOnPage: true,
    },
  ],
  requests: {
    '/api/dividends/total': {},
    '/api/dividends/recent': { limit: '5', chain: '', token: '', cursor: '' },
    '/api/dividends/{address}': { address: '', limit: '5', token: '' },
  },
  wallet: 'recipient',
  what: ({ kind }) => (kind === 'claim' ? 'Dividend claimed' : 'Dividend put in'),
}
