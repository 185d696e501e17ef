/**
 * The timeline of a rank: the spans of its steps and its operations, in a file of the rank's log folder.
 * docs/job-events.md describes the file. Entry classes: {@code Timeline} writes, {@code TimelineFile} reads.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use only the root package.
 */
@NullMarked
package io.jrun.comm.timeline;

import org.jspecify.annotations.NullMarked;
