@NullMarked
package io.jrun.comm.timeline;

import org.jspecify.annotations.NullMarked;
