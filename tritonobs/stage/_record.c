/* The request path, compiled: what record.py promises, word for word, at a tenth of its cost.
 *
 * Python's own lock is the only one: no function here lets go of it between reading a number and writing it.
 * Within the limited API of Python 3.10, so that one build serves every later Python.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define LARGEST 1e12
#define COLD __attribute__((cold, noinline)) /* away from what every request runs */

/* Of each bucket count and sum in turn, then the bounds; of a count, which has no bounds, its number.
 *
 * A process that Triton has just woken pays for each line of memory that it touches: so this is one piece, and
 * keeps the edges of the bucket that was used last (above < value <= upto), where the next value mostly belongs.
 */
typedef struct {
    PyObject_VAR_HEAD
    Py_ssize_t bounds;
    Py_ssize_t last;
    double above, upto;
    double number[];
} Cell;

/* Where a key of every request was found last: a look into the dictionary touches more memory. */
#define NEAR 16
typedef struct {
    PyObject *key;
    Cell *cell;
} Near;

typedef struct {
    PyObject_HEAD
    PyObject *cells; /* key: Cell; none is ever removed */
    Near near[NEAR];
    PyObject *open_cell;
    PyObject *drop;
    PyObject *decorate;
    PyObject *total;    /* the stage of whole requests */
    PyObject *requests; /* the name of the counter of requests */
    PyObject *ok;       /* its key for the outcome `ok` */
    PyObject *items;    /* the name of the counter of items */
    PyObject *told;     /* functions of record.py, for what is not everyday */
    PyObject *failed;
    int forked;
} Recorder;

/* Also a request, which is a timer of `total`: a type of its own would be that much more memory to touch. */
typedef struct {
    PyObject_HEAD
    Recorder *recorder;
    PyObject *stage;
    PyObject *n;    /* NULL is one */
    PyObject *rest; /* the requests without an outcome; NULL for a timer of a stage */
    int running;
    double started;
    double seconds;
} Timer;

static PyTypeObject *cell_type, *timer_type;

static double
now(void)
{
    struct timespec read;
    clock_gettime(CLOCK_MONOTONIC, &read);
    return (double)read.tv_sec + 1e-9 * (double)read.tv_nsec;
}

static Cell *
new_cell(PyObject *bounds)
{
    Py_ssize_t size = PyTuple_Size(bounds);
    Cell *cell = size < 0 ? NULL : (Cell *)PyType_GenericAlloc(cell_type, 3 * size + 2);
    if (!cell)
        return NULL;
    cell->bounds = size;
    cell->above = cell->upto = -1; /* no value is in there */
    for (Py_ssize_t at = 0; at < size; at++)
        cell->number[2 * size + 2 + at] = PyFloat_AsDouble(PyTuple_GetItem(bounds, at));
    if (PyErr_Occurred())
        Py_CLEAR(cell);
    return cell;
}

static void
cell_dealloc(Cell *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* The cell of a key that has none; NULL as in find_cell. */
static COLD Cell *
open_cell(Recorder *self, PyObject *key, double amount)
{
    if (PyErr_Occurred())
        return NULL;
    PyObject *bounds = PyObject_CallFunction(self->open_cell, "(Od)", key, amount);
    if (!bounds || bounds == Py_None) {
        Py_XDECREF(bounds);
        return NULL;
    }
    PyObject *made = (PyObject *)new_cell(bounds);
    Py_DECREF(bounds);
    if (!made)
        return NULL;
    /* Another thread may have been here while Python code ran: what it has counted stays. */
    PyObject *found = PyDict_GetItemWithError(self->cells, key);
    if (!found && !PyErr_Occurred() && PyDict_SetItem(self->cells, key, made) == 0)
        found = made;
    Py_DECREF(made);
    return (Cell *)found;
}

/* The cell of a key; NULL if it may not be used (no error is set) or something went wrong (one is). */
static Cell *
find_cell(Recorder *self, PyObject *key, double amount)
{
    PyObject *found = PyDict_GetItemWithError(self->cells, key);
    return found ? (Cell *)found : open_cell(self, key, amount);
}

/* The same for a key that comes again as the same object: the text of a stage in the model's code. */
static Cell *
find_near(Recorder *self, PyObject *key, double amount)
{
    Near *near = &self->near[((uintptr_t)key >> 5) % NEAR];
    if (near->key == key)
        return near->cell;
    Cell *cell = find_cell(self, key, amount);
    if (cell) {
        PyObject *before = near->key;
        Py_INCREF(key);
        near->key = key;
        near->cell = cell;
        Py_XDECREF(before);
    }
    return cell;
}

/* Where a value belongs, if it is not where the last one was. */
static Py_ssize_t
search(Cell *cell, double value)
{
    const double *bound = cell->number + 2 * cell->bounds + 2;
    Py_ssize_t low = 0, high = cell->bounds;
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        if (bound[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    cell->above = low ? bound[low - 1] : -1;
    cell->upto = low < cell->bounds ? bound[low] : LARGEST;
    return cell->last = low;
}

static int
is_number(double number)
{
    return number >= 0 && number <= LARGEST;
}

static COLD void
drop(Recorder *self, const char *reason, double amount, PyObject *what)
{
    PyObject *done = what ? PyObject_CallFunction(self->drop, "(sdO)", reason, amount, what) : NULL;
    Py_XDECREF(done);
    PyErr_Clear();
}

/* After a record that was not valid: tell what was wrong with it (value and n as far as given), and go on. */
static COLD void
refuse(Recorder *self, PyObject *key, PyObject *value, PyObject *n)
{
    PyErr_Clear();
    PyObject *what = PyTuple_Pack(n ? 3 : value ? 2 : 1, key, value, n);
    drop(self, "invalid", 1, what);
    Py_XDECREF(what);
}

/* Whether it was valid; if not, an error may be set. What is not a number arrives here as -1, with one. */
static int
add(Recorder *self, PyObject *key, double amount)
{
    if (!is_number(amount))
        return 0;
    if (self->forked) {
        drop(self, "forked", amount, key);
        return 1;
    }
    Cell *cell = key == self->ok ? find_near(self, key, amount) : find_cell(self, key, amount);
    if (!cell)
        return !PyErr_Occurred();
    cell->number[0] += amount;
    return 1;
}

static int
put(Recorder *self, PyObject *key, double value, double times)
{
    if (!is_number(value) || !is_number(times))
        return 0;
    if (self->forked) {
        drop(self, "forked", times, key);
        return 1;
    }
    Cell *cell = find_near(self, key, times);
    if (!cell)
        return !PyErr_Occurred();
    int again = cell->above < value && value <= cell->upto;
    double *number = cell->number + 2 * (again ? cell->last : search(cell, value));
    number[0] += times;
    number[1] += value * times;
    return 1;
}

/* PyFloat_AsDouble alone makes a float out of each int, to read it. */
static double
amount_of(PyObject *n)
{
    return PyLong_CheckExact(n) ? PyLong_AsDouble(n) : PyFloat_AsDouble(n);
}

static double
whole(PyObject *n)
{
    /* Clipped: too large is too large. */
    return PyLong_CheckExact(n) ? PyLong_AsDouble(n) : (double)PyNumber_AsSsize_t(n, NULL);
}

static PyObject *
recorder_count(Recorder *self, PyObject *const *given, Py_ssize_t size)
{
    if (size != 2) {
        PyErr_SetString(PyExc_TypeError, "count(key, n)");
        return NULL;
    }
    if (!add(self, given[0], amount_of(given[1])))
        refuse(self, given[0], given[1], NULL);
    Py_RETURN_NONE;
}

static PyObject *
recorder_distribute(Recorder *self, PyObject *const *given, Py_ssize_t size)
{
    if (size != 3) {
        PyErr_SetString(PyExc_TypeError, "distribute(key, value, n)");
        return NULL;
    }
    double value = amount_of(given[1]);
    if (value < 0 || !put(self, given[0], value, whole(given[2])))
        refuse(self, given[0], given[1], given[2]);
    Py_RETURN_NONE;
}

/* A running one. It takes over `rest`. */
static PyObject *
new_timer(Recorder *self, PyObject *stage, PyObject *n, PyObject *rest)
{
    Timer *timer = PyObject_New(Timer, timer_type);
    if (!timer) {
        Py_XDECREF(rest);
        return NULL;
    }
    Py_INCREF(self);
    Py_INCREF(stage);
    Py_XINCREF(n);
    timer->recorder = self;
    timer->stage = stage;
    timer->n = n;
    timer->rest = rest;
    timer->running = 1;
    timer->seconds = 0;
    timer->started = now();
    return (PyObject *)timer;
}

/* An argument by place or by name, such as n of time(stage, n): 1 if it was given. */
static int
one_of(PyObject **found, const char *called, PyObject *const *given, Py_ssize_t size, PyObject *names,
       Py_ssize_t place)
{
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    if (size > place)
        *found = given[place];
    for (Py_ssize_t at = 0; at < named; at++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, at), called) == 0) {
            *found = given[size + at];
            return 1;
        }
    }
    return size > place;
}

static PyObject *
recorder_time(Recorder *self, PyObject *const *given, Py_ssize_t size, PyObject *names)
{
    PyObject *stage = NULL, *n = NULL;
    Py_ssize_t known = one_of(&stage, "stage", given, size, names, 0);
    known += one_of(&n, "n", given, size, names, 1);
    if (!stage || size + (names ? PyTuple_Size(names) : 0) != known) {
        PyErr_SetString(PyExc_TypeError, "time(stage, n=1)");
        return NULL;
    }
    return new_timer(self, stage, n, NULL);
}

static PyObject *
recorder_request(Recorder *self, PyObject *const *given, Py_ssize_t size, PyObject *names)
{
    PyObject *n = NULL;
    Py_ssize_t known = one_of(&n, "n", given, size, names, 0);
    if (size + (names ? PyTuple_Size(names) : 0) != known) {
        PyErr_SetString(PyExc_TypeError, "request(n=1)");
        return NULL;
    }
    PyObject *rest = n ? n : PyLong_FromLong(1);
    if (n)
        Py_INCREF(n);
    return rest ? new_timer(self, self->total, n, rest) : NULL;
}

static PyObject *
recorder_items(Recorder *self, PyObject *const *given, Py_ssize_t size, PyObject *names)
{
    PyObject *stage = NULL, *kind = NULL, *n = NULL;
    Py_ssize_t known = one_of(&stage, "stage", given, size, names, 0);
    known += one_of(&kind, "kind", given, size, names, 1);
    known += one_of(&n, "n", given, size, names, 2);
    if (!stage || !kind || size + (names ? PyTuple_Size(names) : 0) != known) {
        PyErr_SetString(PyExc_TypeError, "items(stage, kind, n=1)");
        return NULL;
    }
    PyObject *key = PyTuple_Pack(3, self->items, stage, kind);
    if (!key)
        return NULL;
    if (!add(self, key, n ? amount_of(n) : 1))
        refuse(self, key, n, NULL);
    Py_DECREF(key);
    Py_RETURN_NONE;
}

static PyObject *
recorder_totals(Recorder *self, PyObject *Py_UNUSED(nothing))
{
    PyObject *totals = PyDict_New(), *key, *found;
    Py_ssize_t at = 0;
    while (totals && PyDict_Next(self->cells, &at, &key, &found)) {
        Cell *cell = (Cell *)found;
        Py_ssize_t size = cell->bounds ? 2 * (cell->bounds + 1) : 1;
        PyObject *numbers = PyList_New(size);
        for (Py_ssize_t each = 0; numbers && each < size; each++) {
            PyObject *number = PyFloat_FromDouble(cell->number[each]);
            if (!number || PyList_SetItem(numbers, each, number) < 0)
                Py_CLEAR(numbers);
        }
        if (!numbers || PyDict_SetItem(totals, key, numbers) < 0)
            Py_CLEAR(totals);
        Py_XDECREF(numbers);
    }
    return totals;
}

static PyObject *
recorder_fork(Recorder *self, PyObject *Py_UNUSED(nothing))
{
    self->forked = 1;
    Py_RETURN_NONE;
}

static PyObject *
recorder_new(PyTypeObject *type, PyObject *given, PyObject *names)
{
    static char *known[] = {"open_cell", "drop", "decorate", "requests", NULL};
    PyObject *open_cell, *drop_record, *decorate, *in_python, *total, *requests, *items, *told, *failed;
    if (!PyArg_ParseTupleAndKeywords(given, names, "OOO(OUUUOO)", known, &open_cell, &drop_record, &decorate,
                                     &in_python, &total, &requests, &items, &told, &failed))
        return NULL;
    Recorder *self = (Recorder *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    Py_INCREF(open_cell);
    Py_INCREF(drop_record);
    Py_INCREF(decorate);
    self->open_cell = open_cell;
    self->drop = drop_record;
    self->decorate = decorate;
    Py_INCREF(total);
    Py_INCREF(requests);
    Py_INCREF(items);
    Py_INCREF(told);
    Py_INCREF(failed);
    self->total = total;
    self->requests = requests;
    self->items = items;
    self->told = told;
    self->failed = failed;
    /* Interned as the keys of Python code are, or each look-up would compare letters. */
    self->ok = Py_BuildValue("(ON)", requests, PyUnicode_InternFromString("ok"));
    self->cells = PyDict_New();
    if (!self->cells || !self->ok)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int
recorder_traverse(Recorder *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->open_cell);
    Py_VISIT(self->drop);
    Py_VISIT(self->decorate);
    Py_VISIT(self->told);
    Py_VISIT(self->failed);
    Py_VISIT(self->cells);
    return 0;
}

static int
recorder_clear(Recorder *self)
{
    Py_CLEAR(self->open_cell);
    Py_CLEAR(self->drop);
    Py_CLEAR(self->decorate);
    Py_CLEAR(self->told);
    Py_CLEAR(self->failed);
    return 0;
}

static void
recorder_dealloc(Recorder *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    recorder_clear(self);
    Py_CLEAR(self->total);
    Py_CLEAR(self->requests);
    Py_CLEAR(self->items);
    Py_CLEAR(self->ok);
    for (int at = 0; at < NEAR; at++)
        Py_CLEAR(self->near[at].key);
    Py_CLEAR(self->cells);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static int
is_text(PyObject *stage)
{
    return PyUnicode_CheckExact(stage) || PyUnicode_Check(stage); /* the second is a call */
}

static int
end_timer(Timer *self)
{
    if (!self->running)
        return 0;
    self->running = 0;
    self->seconds = now() - self->started;
    double times = self->n ? whole(self->n) : 1;
    if (!is_text(self->stage) || !put(self->recorder, self->stage, self->seconds, times)) {
        PyErr_Clear();
        PyObject *seconds = PyFloat_FromDouble(self->seconds);
        if (seconds)
            refuse(self->recorder, self->stage, seconds, self->n);
        Py_XDECREF(seconds);
    }
    return 1;
}

static PyObject *
timer_enter(Timer *self, PyObject *Py_UNUSED(nothing))
{
    Py_INCREF(self);
    if (!self->rest) {
        self->running = 1;
        self->started = now();
    }
    return (PyObject *)self;
}

static void
count_rest(Timer *self, PyObject *key)
{
    if (!add(self->recorder, key, amount_of(self->rest)))
        refuse(self->recorder, key, self->rest, NULL);
}

static COLD PyObject *
count_failed(Timer *self, PyObject *error)
{
    /* Held, because another thread may set an outcome meanwhile. */
    PyObject *rest = self->rest;
    Py_INCREF(rest);
    PyObject *done =
        PyObject_CallFunctionObjArgs(self->recorder->failed, (PyObject *)self->recorder, rest, error, NULL);
    Py_DECREF(rest);
    return done;
}

static PyObject *
timer_exit(Timer *self, PyObject *const *given, Py_ssize_t size)
{
    if (end_timer(self) && self->rest) {
        if (size > 0 && given[0] != Py_None)
            return count_failed(self, size > 1 ? given[1] : Py_None);
        count_rest(self, self->recorder->ok);
    }
    Py_RETURN_NONE;
}

static PyObject *
timer_finish(Timer *self, PyObject *Py_UNUSED(nothing))
{
    return PyBool_FromLong(end_timer(self));
}

static PyObject *
timer_end(Timer *self, PyObject *const *given, Py_ssize_t size, PyObject *names)
{
    PyObject *outcome = NULL;
    Py_ssize_t known = self->rest ? one_of(&outcome, "outcome", given, size, names, 0) : 0;
    if (size + (names ? PyTuple_Size(names) : 0) != known) {
        PyErr_SetString(PyExc_TypeError, self->rest ? "end(outcome='ok')" : "end()");
        return NULL;
    }
    if (end_timer(self) && self->rest) {
        PyObject *key = outcome ? PyTuple_Pack(2, self->recorder->requests, outcome) : NULL;
        if (outcome && !key)
            return NULL;
        count_rest(self, key ? key : self->recorder->ok);
        Py_XDECREF(key);
    }
    return PyFloat_FromDouble(self->seconds);
}

static PyObject *
timer_outcome(Timer *self, PyObject *const *given, Py_ssize_t size, PyObject *names)
{
    PyObject *outcome = NULL, *n = NULL;
    Py_ssize_t known = one_of(&outcome, "outcome", given, size, names, 0);
    known += one_of(&n, "n", given, size, names, 1);
    if (!self->rest || !outcome || size + (names ? PyTuple_Size(names) : 0) != known) {
        PyErr_SetString(PyExc_TypeError, self->rest ? "outcome(outcome, n=1)" : "only a request has an outcome");
        return NULL;
    }
    PyObject *one = n ? NULL : PyLong_FromLong(1);
    PyObject *left = NULL, *rest = self->rest;
    Py_INCREF(rest);
    if (n || one)
        left = PyObject_CallFunctionObjArgs(self->recorder->told, (PyObject *)self->recorder, rest, outcome,
                                            n ? n : one, NULL);
    Py_DECREF(rest);
    Py_XDECREF(one);
    if (!left)
        return NULL;
    rest = self->rest;
    self->rest = left;
    Py_DECREF(rest);
    Py_RETURN_NONE;
}

static PyObject *
timer_seconds(Timer *self, void *Py_UNUSED(nothing))
{
    return PyFloat_FromDouble(self->running ? now() - self->started : self->seconds);
}

static PyObject *
timer_call(Timer *self, PyObject *given, PyObject *Py_UNUSED(names))
{
    PyObject *function;
    if (self->rest) {
        PyErr_SetString(PyExc_TypeError, "a request cannot decorate a function: use `with`");
        return NULL;
    }
    if (!PyArg_ParseTuple(given, "O", &function))
        return NULL;
    PyObject *n = self->n ? self->n : PyLong_FromLong(1);
    if (!n)
        return NULL;
    PyObject *made = PyObject_CallFunctionObjArgs(
        self->recorder->decorate, (PyObject *)self->recorder, self->stage, n, function, NULL);
    if (!self->n)
        Py_DECREF(n);
    return made;
}

static void
timer_dealloc(Timer *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_DECREF(self->recorder);
    Py_DECREF(self->stage);
    Py_XDECREF(self->n);
    Py_XDECREF(self->rest);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef recorder_methods[] = {
    {"time", (PyCFunction)(void (*)(void))recorder_time, METH_FASTCALL | METH_KEYWORDS,
     "time(stage, n=1)\n--\n\nA running timer; n observations when it ends."},
    {"request", (PyCFunction)(void (*)(void))recorder_request, METH_FASTCALL | METH_KEYWORDS,
     "request(n=1)\n--\n\nn requests from now on."},
    {"items", (PyCFunction)(void (*)(void))recorder_items, METH_FASTCALL | METH_KEYWORDS,
     "items(stage, kind, n=1)\n--\n\nCount things worked on."},
    {"count", (PyCFunction)(void (*)(void))recorder_count, METH_FASTCALL, "Add n to a count."},
    {"distribute", (PyCFunction)(void (*)(void))recorder_distribute, METH_FASTCALL,
     "Add n observations of value."},
    {"totals", (PyCFunction)recorder_totals, METH_NOARGS, "All that was recorded until now."},
    {"fork", (PyCFunction)recorder_fork, METH_NOARGS, "Record nothing any more: this is a forked child."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef timer_methods[] = {
    {"__enter__", (PyCFunction)timer_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))timer_exit, METH_FASTCALL, NULL},
    {"finish", (PyCFunction)timer_finish, METH_NOARGS, "End it and record; False if it has ended already."},
    {"end", (PyCFunction)(void (*)(void))timer_end, METH_FASTCALL | METH_KEYWORDS,
     "End it if it runs, a request with outcome='ok' for those without one; return its seconds."},
    {"outcome", (PyCFunction)(void (*)(void))timer_outcome, METH_FASTCALL | METH_KEYWORDS,
     "outcome(outcome, n=1)\n--\n\nSet the outcome of n of the requests; any but ok for the rest."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef timer_attributes[] = {
    {"seconds", (getter)timer_seconds, NULL, "How long it ran, or has run until now.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot recorder_slots[] = {
    {Py_tp_new, recorder_new},           {Py_tp_dealloc, recorder_dealloc}, {Py_tp_clear, recorder_clear},
    {Py_tp_traverse, recorder_traverse}, {Py_tp_methods, recorder_methods}, {0, NULL},
};

static PyType_Slot cell_slots[] = {{Py_tp_dealloc, cell_dealloc}, {0, NULL}};

static PyType_Slot timer_slots[] = {
    {Py_tp_dealloc, timer_dealloc}, {Py_tp_methods, timer_methods}, {Py_tp_getset, timer_attributes},
    {Py_tp_call, timer_call},       {0, NULL},
};

static PyType_Spec recorder_spec = {"tritonobs.stage._record.Recorder", sizeof(Recorder), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, recorder_slots};
static PyType_Spec cell_spec = {"tritonobs.stage._record.Cell", offsetof(Cell, number), sizeof(double),
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, cell_slots};
static PyType_Spec timer_spec = {"tritonobs.stage._record.Timer", sizeof(Timer), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, timer_slots};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_record", "The request path, compiled; see record.py.", -1, NULL, NULL, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC
PyInit__record(void)
{
    PyObject *made = PyModule_Create(&module);
    PyObject *recorder = PyType_FromSpec(&recorder_spec);
    cell_type = (PyTypeObject *)PyType_FromSpec(&cell_spec);
    timer_type = (PyTypeObject *)PyType_FromSpec(&timer_spec);
    if (!made || !recorder || !cell_type || !timer_type || PyModule_AddObject(made, "Recorder", recorder) < 0)
        return NULL;
    Py_INCREF(timer_type);
    if (PyModule_AddObject(made, "Timer", (PyObject *)timer_type) < 0)
        return NULL;
    return made;
}
