@NullMarked
package io.jrun.comm.flight;

import org.jspecify.annotations.NullMarked;
