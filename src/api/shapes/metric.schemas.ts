import * as z from 'zod'
import { METRIC_UNIT_TYPES } from '../../configuration/enumerations'
import { MOST_NAME_CHARACTERS } from '../../lib/limits'
import {
  ConfigKey,
  createResponse,
  DateResponse,
  defaulted,
  deleteResponse,
  isNamed,
  itemName,
  items,
  Name,
  optional,
  text,
  UuidResponse,
  updateResponse,
} from '../fields'
import { UserAchievementResponse } from './achievements'

const UnitType = z.enum(METRIC_UNIT_TYPES)
const Units = text(MOST_NAME_CHARACTERS)

/** A metric to configure. */
export const CreateMetricRequestItem = z
  .object({
    name: Name,
    key: ConfigKey,
    unitType: defaulted(UnitType, 'number'),
    units: optional(Units),
  })
  .meta({ id: 'CreateMetricRequestItem' })

/** A change to a metric. Its key is fixed. */
export const UpdateMetricRequestItem = z
  .object({ ...itemName, name: optional(Name), unitType: optional(UnitType), units: optional(Units) })
  .check(isNamed)
  .meta({ id: 'UpdateMetricRequestItem' })

/** A metric as the admin interface serves it. Without units, `units` is empty (G10). */
export const CreatedMetric = z
  .object({ id: UuidResponse, name: z.string(), key: z.string(), unitType: UnitType, units: z.string() })
  .meta({ id: 'CreatedMetric' })

export const CreateMetricsRequest = items(CreateMetricRequestItem).meta({ id: 'CreateMetricsRequest' })
export const UpdateMetricsRequest = items(UpdateMetricRequestItem).meta({ id: 'UpdateMetricsRequest' })
export const ListMetricsResponse = z.array(CreatedMetric).meta({ id: 'ListMetricsResponse' })
export const CreateMetricsResponse = createResponse('CreateMetricsResponse', CreatedMetric)
export const UpdateMetricsResponse = updateResponse('UpdateMetricsResponse', CreatedMetric)
export const DeleteMetricsResponse = deleteResponse('DeleteMetricsResponse')

/** A user's total in a metric (0 without events), with the achievements that the metric can complete (A6). */
export const MetricResponse = z
  .object({
    id: z.string(),
    key: z.string(),
    name: z.string(),
    /** The contract no longer has this field, but older client libraries require it. */
    status: z.literal('active'),
    current: z.number(),
    achievements: z.array(UserAchievementResponse),
  })
  .meta({ id: 'MetricResponse' })

export const MetricsResponse = z.array(MetricResponse)

/**
 * The parts of an event summary, of a metric or of points: the change in each, and the running total at its
 * end (P12).
 */
export const EventSummaryResponse = z
  .array(z.object({ date: DateResponse, total: z.number(), change: z.number() }))
  .meta({ id: 'EventSummaryResponse' })
