/** The runtime of process groups: their operations, their failure, and their views. */
@NullMarked
package io.jrun.comm.group;

import org.jspecify.annotations.NullMarked;
