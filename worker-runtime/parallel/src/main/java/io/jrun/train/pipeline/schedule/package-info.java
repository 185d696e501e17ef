/**
 * Pipeline schedules as lists of actions: the generators, the text form, a simulation in exact time units, and the
 * check that runs before the first step. Pure functions: nothing here needs libtorch or other ranks. Begin with
 * {@link io.jrun.train.pipeline.schedule.ScheduleKind}.
 */
@NullMarked
package io.jrun.train.pipeline.schedule;

import org.jspecify.annotations.NullMarked;
