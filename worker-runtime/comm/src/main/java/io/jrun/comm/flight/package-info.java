/**
 * The flight recorder: keeps the last operations of a rank in memory and makes a {@code RankRecord} of them when one
 * is needed. Entry classes: {@code FlightRecorder}, {@code RankRecords}, {@code FlightDump}.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package,
 * {@code backend}, {@code control}, {@code file}, {@code record} and {@code timeline}.
 */
@NullMarked
package io.jrun.comm.flight;

import org.jspecify.annotations.NullMarked;
