/**
 * The location of a rank among its operations, as one record: {@code RankRecord}. The record has one binary form. A
 * rank writes the record to disk after a failure, sends the record on request, and reports the part about its groups
 * once a second. The package {@code flight} makes the records.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use only the root package.
 */
@NullMarked
package io.jrun.comm.record;

import org.jspecify.annotations.NullMarked;
