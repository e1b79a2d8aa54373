import type { EventCard } from '#site/event-card.ts'

export const burnCard: EventCard = {
  part: 'burns',
  noun: 'burn',
  list: { operationId: 'listBurns', path: '/api/burns/recent' },
  charts: [
    {
      name: 'total-burned',
      metric: 'burnedCumulative',
      title: 'Burned to date',
      marks: 'line',
      unit: 'token',
      isOnPage: false,
    },
  ],
  requests: {
    '/api/burns': { period: '7d', chain: '', token: '' },
    '/api/burns/total': { token: '' },
    '/api/burns/recent': { limit: '5', chain: '', token: '', cursor: '' },
  },
  wallet: 'from',
  what: () => 'Burned',
}
