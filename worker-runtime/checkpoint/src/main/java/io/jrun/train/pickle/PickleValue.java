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
        static final Scalar TRUE = new Scalar(true);
        static final Scalar FALSE = new Scalar(false);
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

    /** The name of any other class or function, as {@code module.name}. jrun never looks the name up. */
    record Unknown(String name) implements PickleValue {}

    /** A value that jrun does not make, with the name of its class or function. */
    record Foreign(String name, Kind kind) implements PickleValue {
        /** The use that jrun makes of the value. */
        enum Kind {
            /** A plain value beside the weights, such as a date. */
            VALUE,
            /** An object with attributes, or a tensor of a form that jrun lacks. */
            OBJECT,
            /** The result of a call of an unknown function. */
            REFUSED
        }
    }

    /** A storage: an entry of the zip file. The type is empty for a storage of plain bytes. */
    record Storage(String key, Optional<ElementType> type) implements PickleValue {}

    /** A tensor in a storage; the offset and the strides count elements. */
    record PickledTensor(Storage storage, ElementType type, long offset, List<Long> shape, List<Long> strides)
            implements PickleValue {}
}
