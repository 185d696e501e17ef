package io.jrun.train.jinja;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A block {@code for}.
 *
 * @param filter the condition behind {@code if}
 * @param otherwise runs if there is no element
 */
record Loop(int line, List<String> names, Expression sequence, Expression filter, Statement body, Statement otherwise)
        implements Statement {
    @Override
    public Flow run(Scope scope, StringBuilder out) {
        List<Object> elements = elements(scope);
        if (elements.isEmpty()) {
            return otherwise.run(scope, out);
        }
        for (int i = 0; i < elements.size(); i++) {
            scope.budget().step(line);
            Scope inner = scope.inner();
            inner.set("loop", new Namespace(state(elements, i)));
            Parser.assign(names, elements.get(i), inner, line);
            if (body.run(inner, out) == Flow.BREAK) {
                break;
            }
        }
        return Flow.NEXT;
    }

    private List<Object> elements(Scope scope) {
        Object value = sequence.value(scope);
        List<Object> kept = new ArrayList<>();
        try {
            for (Object element : Values.elements(value)) {
                scope.budget().step(line);
                Scope inner = scope.inner();
                Parser.assign(names, element, inner, line);
                if (Values.isTrue(filter.value(inner))) {
                    kept.add(element);
                }
            }
        } catch (IllegalArgumentException e) {
            throw new TemplateException(line, String.valueOf(e.getMessage()));
        }
        return kept;
    }

    private static Map<String, Object> state(List<Object> elements, int at) {
        long size = elements.size();
        Map<String, Object> state = new HashMap<>();
        state.put("index", at + 1L);
        state.put("index0", (long) at);
        state.put("revindex", size - at);
        state.put("revindex0", size - at - 1);
        state.put("first", at == 0);
        state.put("last", at == size - 1);
        state.put("length", size);
        state.put("depth", 1L); // a loop without 'recursive'
        state.put("depth0", 0L);
        state.put("previtem", at > 0 ? elements.get(at - 1) : new Undefined("loop.previtem"));
        state.put("nextitem", at < size - 1 ? elements.get(at + 1) : new Undefined("loop.nextitem"));
        state.put("cycle", (Callable) (placed, _) -> cycled(placed, at));
        return state;
    }

    private static Object cycled(List<Object> values, int at) {
        if (values.isEmpty()) {
            throw new IllegalArgumentException("loop.cycle needs values");
        }
        return values.get(at % values.size());
    }
}
