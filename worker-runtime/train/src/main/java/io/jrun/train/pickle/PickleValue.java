package io.jrun.train.pickle;

import io.jrun.train.checkpoint.ElementType;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A value of a pickle. Lists and dictionaries may contain themselves. These types therefore have no {@code equals} that
 * compares the contents.
 */
sealed interface PickleValue {
    /** Begins the members of a tuple, list or dictionary on the stack. */
    enum Mark implements PickleValue {
        MARK
    }

    /** A string, a number, a truth value, or None. The value of None is the text "None". */
    record Scalar(Object value) implements PickleValue {
        static final Scalar NONE = new Scalar("None");
    }

    record Tuple(List<PickleValue> items) implements PickleValue {}

    /** A list or a dictionary: a mutable container. */
    final class Sequence implements PickleValue {
        final List<PickleValue> items = new ArrayList<>();
    }

    /** A dict or an OrderedDict. Keys are strings or numbers. */
    final class Dictionary implements PickleValue {
        final Map<Object, PickleValue> items = new LinkedHashMap<>();
    }

    /** The name of a class or function, from the list of allowed names. */
    record Global(AllowedGlobal global) implements PickleValue {}

    /** A storage: an entry of the zip file. The type is empty for a storage of plain bytes. */
    record Storage(String key, Optional<ElementType> type) implements PickleValue {}

    /** A tensor in a storage; the offset and the strides count elements. */
    record PickledTensor(Storage storage, ElementType type, long offset, List<Long> shape, List<Long> strides)
            implements PickleValue {}
}
