@NullMarked
package io.jrun.comm.record;

import org.jspecify.annotations.NullMarked;
