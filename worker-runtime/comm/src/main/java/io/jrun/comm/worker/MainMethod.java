package io.jrun.comm.worker;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The main method of a class by the rules of the java command: {@code main(String[])} or else {@code main()}, static or
 * of an instance made by the constructor without parameters, declared in the class or inherited, void and not private.
 * Source: JLS 12.1.4 (JEP 512).
 */
final class MainMethod {
    private static final List<Class<?>[]> SIGNATURES = List.of(new Class<?>[] {String[].class}, new Class<?>[0]);

    private final Class<?> mainClass;
    private final Method method;
    private final @Nullable Constructor<?> constructor;

    private MainMethod(Class<?> mainClass, Method method, @Nullable Constructor<?> constructor) {
        this.mainClass = mainClass;
        this.method = method;
        this.constructor = constructor;
    }

    /**
     * Finds the main method without initialising the class.
     *
     * @throws NoSuchMethodException with a line for the user, if the java command would not start this class either
     */
    static MainMethod of(Class<?> mainClass) throws NoSuchMethodException {
        for (Class<?>[] signature : SIGNATURES) {
            Method found = find(mainClass, signature);
            if (found != null) {
                found.setAccessible(true);
                boolean isStatic = Modifier.isStatic(found.getModifiers());
                return new MainMethod(mainClass, found, isStatic ? null : constructorOf(mainClass));
            }
        }
        throw new NoSuchMethodException(mainClass.getName()
                + " has no main method: the class needs a 'void main(String[])' or 'void main()', static or"
                + " not, that is not private");
    }

    private static @Nullable Method find(Class<?> mainClass, Class<?>... signature) {
        for (Class<?> each = mainClass; each != null; each = each.getSuperclass()) {
            Method declared = declared(each, signature);
            if (declared != null && isCandidate(declared, mainClass)) {
                return declared;
            }
        }
        try {
            // A class may inherit main from an interface.
            Method inherited = mainClass.getMethod("main", signature);
            return isCandidate(inherited, mainClass) ? inherited : null;
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    private static @Nullable Method declared(Class<?> type, Class<?>... signature) {
        try {
            return type.getDeclaredMethod("main", signature);
        } catch (NoSuchMethodException e) {
            return null;
        }
    }

    private static boolean isCandidate(Method method, Class<?> mainClass) {
        int modifiers = method.getModifiers();
        boolean isVisible = Modifier.isPublic(modifiers)
                || Modifier.isProtected(modifiers)
                || method.getDeclaringClass().getPackage().equals(mainClass.getPackage());
        return isVisible && !Modifier.isPrivate(modifiers) && method.getReturnType() == void.class;
    }

    private static Constructor<?> constructorOf(Class<?> mainClass) throws NoSuchMethodException {
        try {
            Constructor<?> constructor = mainClass.getDeclaredConstructor();
            if (!Modifier.isPrivate(constructor.getModifiers()) && !Modifier.isAbstract(mainClass.getModifiers())) {
                constructor.setAccessible(true);
                return constructor;
            }
        } catch (NoSuchMethodException e) {
            // A missing constructor is reported like an inaccessible one.
        }
        throw new NoSuchMethodException("the main method of " + mainClass.getName()
                + " is not static, and the class cannot be instantiated: it is abstract, or has no constructor without"
                + " parameters that is not private");
    }

    /**
     * Runs the main method.
     *
     * @throws InvocationTargetException with the exception of the program
     */
    void invoke(String... args) throws IllegalAccessException, InvocationTargetException {
        Object instance = constructor == null ? null : instance(constructor);
        if (method.getParameterCount() == 0) {
            method.invoke(instance);
        } else {
            method.invoke(instance, (Object) args);
        }
    }

    private Object instance(Constructor<?> chosen) throws IllegalAccessException, InvocationTargetException {
        try {
            return chosen.newInstance();
        } catch (InstantiationException e) {
            throw new IllegalStateException(mainClass + " was checked to be concrete", e);
        }
    }
}
