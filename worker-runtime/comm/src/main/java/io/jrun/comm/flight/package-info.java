/**
 * The flight recorder: keeps the last operations of a rank in memory and makes a {@code RankRecord} of them when one is
 * needed. Entry classes: {@code FlightRecorder}, {@code RankRecords}, {@code FlightDump}.
 */
@NullMarked
package io.jrun.comm.flight;

import org.jspecify.annotations.NullMarked;
